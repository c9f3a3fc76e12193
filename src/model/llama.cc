#include "model/llama.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "model/blocks.h"
#include "model/config_reader.h"
#include "model/counterpart.h"
#include "model/random_weights.h"

namespace assay {
namespace {

constexpr DecoderNames cs336_names = {.attention_norm = "ln1",
                                      .q = "attn.q_proj",
                                      .k = "attn.k_proj",
                                      .v = "attn.v_proj",
                                      .out = "attn.output_proj",
                                      .mlp_norm = "ln2",
                                      .gate = "ffn.w1",
                                      .up = "ffn.w3",
                                      .down = "ffn.w2",
                                      .last_norm = "ln_final"};

constexpr Counterpart::Name cs336_whole[] = {{"token_embeddings.weight", "embed_tokens.weight"},
                                             {"ln_final.weight", "norm.weight"},
                                             {language_head_name, language_head_name}};
constexpr Counterpart::Name cs336_layer[] = {{"ln1.weight", "input_layernorm.weight"},
                                             {"attn.q_proj.weight", "self_attn.q_proj.weight"},
                                             {"attn.k_proj.weight", "self_attn.k_proj.weight"},
                                             {"attn.v_proj.weight", "self_attn.v_proj.weight"},
                                             {"attn.output_proj.weight", "self_attn.o_proj.weight"},
                                             {"ln2.weight", "post_attention_layernorm.weight"},
                                             {"ffn.w1.weight", "mlp.gate_proj.weight"},
                                             {"ffn.w2.weight", "mlp.down_proj.weight"},
                                             {"ffn.w3.weight", "mlp.up_proj.weight"}};
constexpr const char* cs336_paired_rows[] = {".attn.q_proj.weight", ".attn.k_proj.weight"};

constexpr DecoderWords mistral_words = {.windowed = Windowed::all, .window = 4096};
constexpr DecoderWords ministral_words = {.windowed = Windowed::listed, .window = 4096};
constexpr DecoderWords smollm3_words = {
    .rotary = {.theta = 2000000}, .windowed = Windowed::listed, .window_is_asked_for = true};

Bias bias_of(const ConfigReader& in, const char* key) {
  return in.flag_or(key, false) ? Bias::present : Bias::absent;
}

/// Every fourth layer has no positions where nothing else is said.
std::vector<std::uint8_t> smollm3_rotary_layers(const ConfigReader& in, std::int64_t layers) {
  std::vector<std::uint8_t> turns;
  const std::int64_t interval = in.count_or("no_rope_layer_interval", 4);
  for (std::int64_t layer = 0; layer < layers; ++layer) turns.push_back((layer + 1) % interval == 0 ? 0 : 1);
  if (!in.has("no_rope_layers")) return turns;
  const Json& list = in.json().at("no_rope_layers");
  if (!list.is_array() || list.size() != turns.size())
    fail_user("{}: 'no_rope_layers' is no list of {} numbers, one a layer", in.file(), layers);
  for (std::size_t layer = 0; layer < turns.size(); ++layer) {
    if (list[layer] != 0 && list[layer] != 1) fail_user("{}: 'no_rope_layers' holds other than 0 and 1", in.file());
    turns[layer] = list[layer].get<std::uint8_t>();  // 1: it has positions.
  }
  return turns;
}

/// What has positions then has no window.
void drop_windows_of_rotary_layers(ModelConfig& c) {
  for (std::size_t layer = 0; layer < c.windows.size(); ++layer) c.windows[layer] *= 1 - c.rotary_layers[layer];
  if (std::all_of(c.windows.begin(), c.windows.end(), [](std::int64_t window) { return window == 0; }))
    c.windows.clear();
}

}  // namespace

const DecoderNames llama_names = {.attention_norm = "input_layernorm",
                                  .q = "self_attn.q_proj",
                                  .k = "self_attn.k_proj",
                                  .v = "self_attn.v_proj",
                                  .out = "self_attn.o_proj",
                                  .mlp_norm = "post_attention_layernorm",
                                  .gate = "mlp.gate_proj",
                                  .up = "mlp.up_proj",
                                  .down = "mlp.down_proj"};
const TensorNames llama_tensors = {.prefix = "model.", .embedding = "embed_tokens.weight"};
const TensorNames cs336_tensors = {.prefix = "", .embedding = "token_embeddings.weight"};
const Counterpart cs336_counterpart = {
    .family = "llama", .whole = cs336_whole, .layer = cs336_layer, .paired_rows = cs336_paired_rows};

ModelConfig parse_llama(const ConfigReader& in) {
  ModelConfig c = parse_decoder(in, {});
  c.qkv_bias = c.out_bias = bias_of(in, "attention_bias");
  c.mlp_bias = bias_of(in, "mlp_bias");
  return c;
}

ModelConfig parse_mistral(const ConfigReader& in) {
  return parse_decoder(in, mistral_words);
}

ModelConfig parse_ministral(const ConfigReader& in) {
  return parse_decoder(in, ministral_words);
}

ModelConfig parse_smollm3(const ConfigReader& in) {
  ModelConfig c = parse_decoder(in, smollm3_words);
  c.tied_head = in.flag_or("tie_word_embeddings", true);
  c.qkv_bias = c.out_bias = bias_of(in, "attention_bias");
  c.mlp_bias = bias_of(in, "mlp_bias");
  c.rotary_layers = smollm3_rotary_layers(in, c.layers);
  if (!in.has("layer_types")) drop_windows_of_rotary_layers(c);
  return c;
}

ModelConfig parse_cs336(const ConfigReader& in) {
  ModelConfig c;
  c.context = in.count("context_length");
  c.d_model = in.count("d_model");
  c.layers = in.count("num_layers");
  c.heads = c.kv_heads = in.count("num_heads");
  c.d_ff = in.count("d_ff");
  c.activation = Activation::silu;
  c.norm_epsilon = 1e-5;
  c.rotary.theta = in.real_or("rope_theta", 10000, rope_theta_range);
  c.tied_head = false;
  return c;
}

Json write_llama(const ModelConfig& c) {
  Json json = write_decoder(c, "LlamaForCausalLM", {});
  json["attention_bias"] = c.qkv_bias == Bias::present;
  json["mlp_bias"] = c.mlp_bias == Bias::present;
  return json;
}

Json write_mistral(const ModelConfig& c) {
  return write_decoder(c, "MistralForCausalLM", mistral_words);
}

Json write_ministral(const ModelConfig& c) {
  return write_decoder(c, "MinistralForCausalLM", ministral_words);
}

Json write_smollm3(const ModelConfig& c) {
  Json json = write_decoder(c, "SmolLM3ForCausalLM", smollm3_words);
  json["attention_bias"] = c.qkv_bias == Bias::present;
  json["mlp_bias"] = c.mlp_bias == Bias::present;
  json["no_rope_layers"] = c.rotary_layers;
  return json;
}

Json write_cs336(const ModelConfig& c) {
  return {{"context_length", c.context}, {"d_model", c.d_model}, {"num_layers", c.layers},
          {"num_heads", c.heads},        {"d_ff", c.d_ff},       {"rope_theta", c.rotary.theta}};
}

Distribution initial_cs336(const Value& weight, const ModelConfig&) {
  if (weight.name == cs336_tensors.embedding) return {1, 3, 0};
  return {std::sqrt(2.0 / static_cast<double>(weight.shape[0].factor + weight.shape[1].factor)), 3, 0};
}

void emit_llama(Blocks& b) {
  emit_decoder(b, llama_names);
}

void emit_cs336(Blocks& b) {
  emit_decoder(b, cs336_names);
}

}  // namespace assay
