#include "model/gpt_neox.h"

#include "base/json.h"
#include "model/config_reader.h"
#include "model/decoder.h"
#include "model/families.h"

namespace assay {
namespace {

constexpr DecoderNames neox_names = {.attention_norm = "input_layernorm",
                                     .q = "attention.query_key_value",
                                     .k = nullptr,
                                     .v = nullptr,
                                     .out = "attention.dense",
                                     .mlp_norm = "post_attention_layernorm",
                                     .gate = nullptr,
                                     .up = "mlp.dense_h_to_4h",
                                     .down = "mlp.dense_4h_to_h",
                                     .last_norm = "final_layer_norm"};
constexpr DecoderWords neox_words = {
    .epsilon_key = "layer_norm_eps",
    .epsilon = 1e-5,
    .activation = "gelu",
    .rotary = {.theta_key = "rotary_emb_base", .share_key = "rotary_pct", .share = 0.25, .plain_turn_a_share = true}};
constexpr const char* neox_by_key_head[] = {".query_key_value.weight", ".query_key_value.bias"};

}  // namespace

const TensorNames gpt_neox_tensors = {
    .prefix = "gpt_neox.", .embedding = "embed_in.weight", .by_key_head = neox_by_key_head, .head = "embed_out.weight"};

ModelConfig parse_gpt_neox(const ConfigReader& in) {
  ModelConfig c = parse_decoder(in, neox_words);
  c.norm = NormKind::layer;
  c.norms = in.flag_or("use_parallel_residual", true) ? NormPlace::parallel : NormPlace::before;
  c.qkv_bias = c.out_bias = in.flag_or("attention_bias", true) ? Bias::present : Bias::absent;
  c.mlp_bias = Bias::present;
  return c;
}

Json write_gpt_neox(const ModelConfig& c) {
  Json json = write_decoder(c, "GPTNeoXForCausalLM", neox_words);
  json["use_parallel_residual"] = c.norms == NormPlace::parallel;
  json["attention_bias"] = c.qkv_bias == Bias::present;
  return json;
}

void emit_gpt_neox(Blocks& b) {
  emit_decoder(b, neox_names);
}

}  // namespace assay
