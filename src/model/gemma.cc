#include "model/gemma.h"

#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "model/decoder.h"
#include "model/llama.h"
#include "model/qwen.h"

namespace assay {
namespace {

constexpr DecoderWords gemma_words = {.activation = "gelu_pytorch_tanh"};
constexpr DecoderWords gemma2_words = {.activation_key = "hidden_activation",
                                       .activation = "gelu_pytorch_tanh",
                                       .windowed = Windowed::listed,
                                       .window = 4096,
                                       .whole_layer_every = 2};
constexpr DecoderWords gemma3_words = {.activation_key = "hidden_activation",
                                       .activation = "gelu_pytorch_tanh",
                                       .rotary = {.theta = 1e6, .window_theta = 10000},
                                       .windowed = Windowed::listed,
                                       .window = 4096,
                                       .whole_layer_every = 6};
constexpr std::int64_t usual_head_dim = 256;
constexpr RealRange score_divisor_range = {"what scores are divided by the root of", 1e-6, 1e9};

DecoderNames with_norms_around(DecoderNames names) {
  names.attention_norm_behind = "post_attention_layernorm";
  names.mlp_norm = "pre_feedforward_layernorm";
  names.mlp_norm_behind = "post_feedforward_layernorm";
  return names;
}

/// What the three have in common. An entry that is missing is what transformers takes it for.
ModelConfig parse_any(const ConfigReader& in, const DecoderWords& words) {
  in.require_flag("use_bidirectional_attention", false);
  ModelConfig c = parse_decoder(in, words);
  if (!in.has("head_dim")) c.head_dim = usual_head_dim;
  c.norm_shift = 1;
  c.embedding_scale = std::sqrt(static_cast<double>(c.d_model));
  c.tied_head = in.flag_or("tie_word_embeddings", true);
  c.qkv_bias = c.out_bias = in.flag_or("attention_bias", false) ? Bias::present : Bias::absent;
  return c;
}

/// A cap is absent where it is null, and as usual where nothing is said.
double cap_or(const ConfigReader& in, const char* key, double usual) {
  if (!in.json().contains(key)) return usual;
  return in.has(key) ? in.real_or(key, usual, cap_range) : 0;
}

double score_scale(const ConfigReader& in) {
  return 1 / std::sqrt(in.real_or("query_pre_attn_scalar", 256, score_divisor_range));
}

Json write_any(const ModelConfig& c, const char* architecture, const DecoderWords& words) {
  Json json = write_decoder(c, architecture, words);
  json["attention_bias"] = c.qkv_bias == Bias::present;
  return json;
}

void write_scores(const ModelConfig& c, Json& json) {
  const double divisor = 1 / (c.score_scale * c.score_scale);
  const double whole = std::round(divisor);  // transformers takes whole numbers alone.
  json["query_pre_attn_scalar"] =
      std::abs(divisor - whole) < 1e-9 * whole ? Json(static_cast<std::int64_t>(whole)) : Json(divisor);
  json["attn_logit_softcapping"] = c.score_cap > 0 ? Json(c.score_cap) : Json(nullptr);
  json["final_logit_softcapping"] = c.logit_cap > 0 ? Json(c.logit_cap) : Json(nullptr);
}

}  // namespace

ModelConfig parse_gemma(const ConfigReader& in) {
  ModelConfig c = parse_any(in, gemma_words);
  // Files say gelu and mean its approximation.
  if (c.activation == Activation::gelu_erf) c.activation = Activation::gelu_tanh;
  return c;
}

Json write_gemma(const ModelConfig& c) {
  return write_any(c, "GemmaForCausalLM", gemma_words);
}

ModelConfig parse_gemma2(const ConfigReader& in) {
  ModelConfig c = parse_any(in, gemma2_words);
  c.norms = NormPlace::around;
  c.score_scale = score_scale(in);
  c.score_cap = cap_or(in, "attn_logit_softcapping", 50);
  c.logit_cap = cap_or(in, "final_logit_softcapping", 30);
  return c;
}

Json write_gemma2(const ModelConfig& c) {
  Json json = write_any(c, "Gemma2ForCausalLM", gemma2_words);
  write_scores(c, json);
  return json;
}

void emit_gemma2(Blocks& b) {
  emit_decoder(b, with_norms_around(llama_names));
}

ModelConfig parse_gemma3(const ConfigReader& in) {
  ModelConfig c = parse_any(in, gemma3_words);
  c.norms = NormPlace::around;
  c.head_norm = HeadNorm::head;
  c.score_scale = score_scale(in);
  c.logit_cap = cap_or(in, "final_logit_softcapping", 0);  // transformers caps no scores of Gemma 3, whatever is said.
  return c;
}

Json write_gemma3(const ModelConfig& c) {
  Json json = write_any(c, "Gemma3ForCausalLM", gemma3_words);
  write_scores(c, json);
  return json;
}

void emit_gemma3(Blocks& b) {
  emit_decoder(b, with_norms_around(with_head_norms(llama_names)));
}

}  // namespace assay
