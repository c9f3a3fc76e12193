#include "model/decoders.h"

#include "base/json.h"
#include "model/config_reader.h"
#include "model/decoder.h"
#include "model/llama.h"

namespace assay {
namespace {

constexpr DecoderNames olmo2_names = {.attention_norm = "post_attention_layernorm",
                                      .q = "self_attn.q_proj",
                                      .k = "self_attn.k_proj",
                                      .v = "self_attn.v_proj",
                                      .out = "self_attn.o_proj",
                                      .mlp_norm = "post_feedforward_layernorm",
                                      .gate = "mlp.gate_proj",
                                      .up = "mlp.up_proj",
                                      .down = "mlp.down_proj",
                                      .q_norm = "self_attn.q_norm",
                                      .k_norm = "self_attn.k_norm"};
constexpr DecoderNames phi3_names = {.attention_norm = "input_layernorm",
                                     .q = "self_attn.qkv_proj",
                                     .k = nullptr,
                                     .v = nullptr,
                                     .out = "self_attn.o_proj",
                                     .mlp_norm = "post_attention_layernorm",
                                     .gate = "mlp.gate_up_proj",
                                     .up = nullptr,
                                     .down = "mlp.down_proj"};

constexpr DecoderWords olmo2_words = {.epsilon = 1e-5};
constexpr DecoderWords phi3_words = {.epsilon = 1e-5};
constexpr DecoderWords stablelm_words = {.epsilon_key = "layer_norm_eps", .epsilon = 1e-5};

}  // namespace

ModelConfig parse_olmo2(const ConfigReader& in) {
  in.require_flag("attention_bias", false);
  ModelConfig c = parse_decoder(in, olmo2_words);
  c.norms = NormPlace::behind;
  c.head_norm = HeadNorm::whole;
  return c;
}

Json write_olmo2(const ModelConfig& c) {
  return write_decoder(c, "Olmo2ForCausalLM", olmo2_words);
}

void emit_olmo2(Blocks& b) {
  emit_decoder(b, olmo2_names);
}

ModelConfig parse_phi3(const ConfigReader& in) {
  return parse_decoder(in, phi3_words);
}

Json write_phi3(const ModelConfig& c) {
  Json json = write_decoder(c, "Phi3ForCausalLM", phi3_words);
  if (c.rope_scaling.original > 0) json["original_max_position_embeddings"] = c.rope_scaling.original;
  return json;
}

void emit_phi3(Blocks& b) {
  emit_decoder(b, phi3_names);
}

ModelConfig parse_stablelm(const ConfigReader& in) {
  in.require_flag("qk_layernorm", false);
  ModelConfig c = parse_decoder(in, stablelm_words);
  c.norm = NormKind::layer;
  if (in.flag_or("use_parallel_residual", false)) c.norms = NormPlace::shared;
  c.qkv_bias = in.flag_or("use_qkv_bias", false) ? Bias::present : Bias::absent;
  return c;
}

Json write_stablelm(const ModelConfig& c) {
  Json json = write_decoder(c, "StableLmForCausalLM", stablelm_words);
  json["use_qkv_bias"] = c.qkv_bias == Bias::present;
  json["use_parallel_residual"] = c.norms == NormPlace::shared;
  return json;
}

}  // namespace assay
