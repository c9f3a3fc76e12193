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
constexpr DecoderWords olmo3_words = {
    .epsilon = 1e-5, .rotary = {.theta = 500000, .window_theta = 0}, .window = 4096, .whole_layer_every = 4};
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

ModelConfig parse_olmo3(const ConfigReader& in) {
  in.require_flag("attention_bias", false);
  ModelConfig c = parse_decoder(in, olmo3_words);
  c.norms = NormPlace::behind;
  c.head_norm = HeadNorm::whole;
  return c;
}

Json write_olmo3(const ModelConfig& c) {
  return write_decoder(c, "Olmo3ForCausalLM", olmo3_words);
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
  if (c.rotary.scaling.original > 0) json["original_max_position_embeddings"] = c.rotary.scaling.original;
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

ModelConfig parse_granite(const ConfigReader& in) {
  ModelConfig c = parse_llama(in);
  c.embedding_scale = in.real_or("embedding_multiplier", 1, scale_range);
  c.residual_scale = in.real_or("residual_multiplier", 1, scale_range);
  c.score_scale = in.real_or("attention_multiplier", 1, scale_range);
  c.logit_scale = 1 / in.real_or("logits_scaling", 1, scale_range);
  return c;
}

Json write_granite(const ModelConfig& c) {
  Json json = write_llama(c);
  json["architectures"] = Json::array({"GraniteForCausalLM"});
  json["embedding_multiplier"] = c.embedding_scale;
  json["residual_multiplier"] = c.residual_scale;
  json["attention_multiplier"] = c.score_scale;
  json["logits_scaling"] = 1 / c.logit_scale;
  return json;
}

}  // namespace assay
