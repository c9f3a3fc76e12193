#include "model/llama.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "model/blocks.h"
#include "model/config_reader.h"
#include "model/random_weights.h"

namespace assay {
namespace {

constexpr GgufNames::Renamed gguf_whole[] = {{"token_embd.weight", "embed_tokens.weight"},
                                             {"output_norm.weight", "norm.weight"},
                                             {"output.weight", language_head_name}};
constexpr GgufNames::Renamed gguf_layer[] = {
    {"attn_norm.weight", "input_layernorm.weight"},    {"attn_q.weight", "self_attn.q_proj.weight"},
    {"attn_k.weight", "self_attn.k_proj.weight"},      {"attn_v.weight", "self_attn.v_proj.weight"},
    {"attn_output.weight", "self_attn.o_proj.weight"}, {"ffn_norm.weight", "post_attention_layernorm.weight"},
    {"ffn_gate.weight", "mlp.gate_proj.weight"},       {"ffn_up.weight", "mlp.up_proj.weight"},
    {"ffn_down.weight", "mlp.down_proj.weight"}};
constexpr const char* gguf_paired_rows[] = {".q_proj.weight", ".k_proj.weight"};

double read_rope_theta(const ConfigReader& in) {
  if (in.has("rope_scaling")) {
    const ConfigReader scaling(in.json().at("rope_scaling"), in.file());
    const std::string type = scaling.text_or("rope_type", scaling.text_or("type", ""));
    if (type != "default") fail_user("{}: 'rope_scaling' of type '{}' is not supported", in.file(), type.substr(0, 60));
  }
  if (!in.has("rope_parameters")) return in.real_or("rope_theta", 10000, rope_theta_range);
  const ConfigReader parameters(in.json().at("rope_parameters"), in.file());
  if (const std::string type = parameters.text_or("rope_type", "default"); type != "default") {
    fail_user("{}: 'rope_parameters.rope_type' = '{}' is not supported", in.file(), type);
  }
  return parameters.real_or("rope_theta", in.real_or("rope_theta", 10000, rope_theta_range), rope_theta_range);
}

/// What Llama and the CS336 model name differently; their arithmetic differs in the rotary pairs alone.
struct DecoderLayerNames {
  std::string attention_norm, q, k, v, o, mlp_norm, gate, up, down;
};

DecoderLayerNames llama_names(std::int64_t layer) {
  const std::string p = fmt::format("layers.{}.", layer);
  return {p + "input_layernorm",  p + "self_attn.q_proj", p + "self_attn.k_proj",
          p + "self_attn.v_proj", p + "self_attn.o_proj", p + "post_attention_layernorm",
          p + "mlp.gate_proj",    p + "mlp.up_proj",      p + "mlp.down_proj"};
}

DecoderLayerNames cs336_names(std::int64_t layer) {
  const std::string p = fmt::format("layers.{}.", layer);
  return {p + "ln1", p + "attn.q_proj", p + "attn.k_proj", p + "attn.v_proj", p + "attn.output_proj",
          p + "ln2", p + "ffn.w1",      p + "ffn.w3",      p + "ffn.w2"};
}

ValueId rotary_attention(Blocks& b, ValueId x, const DecoderLayerNames& names, const std::string& path) {
  const ModelConfig& c = b.config();
  b.at(path + ".attn.q_proj", Role::attention);
  ValueId q = b.linear(x, names.q, c.heads * c.head_dim, Bias::absent);
  b.at(path + ".attn.k_proj", Role::attention);
  ValueId k = b.linear(x, names.k, c.kv_heads * c.head_dim, Bias::absent);
  b.at(path + ".attn.v_proj", Role::attention);
  const ValueId v = b.linear(x, names.v, c.kv_heads * c.head_dim, Bias::absent);
  b.at(path + ".attn.rope", Role::attention);
  q = b.rope(q, c.heads);
  k = b.rope(k, c.kv_heads);
  const ValueId h = b.attention(path + ".attn", q, k, v);
  b.at(path + ".attn.out_proj", Role::attention);
  return b.linear(h, names.o, c.d_model, Bias::absent);
}

/// down(f(gate(x)) * up(x))   (Shazeer 2020)
ValueId gated_mlp(Blocks& b, ValueId x, const DecoderLayerNames& names, const std::string& path) {
  const ModelConfig& c = b.config();
  b.at(path + ".mlp.gate_proj", Role::mlp);
  const ValueId gate = b.activation(b.linear(x, names.gate, c.d_ff, Bias::absent), c.activation);
  b.at(path + ".mlp.up_proj", Role::mlp);
  const ValueId up = b.linear(x, names.up, c.d_ff, Bias::absent);
  b.at(path + ".mlp.gate", Role::mlp);
  const ValueId h = b.multiply(gate, up);
  b.at(path + ".mlp.down_proj", Role::mlp);
  return b.linear(h, names.down, c.d_model, Bias::absent);
}

ValueId decoder_block(Blocks& b, ValueId x, const DecoderLayerNames& names, std::int64_t layer) {
  const std::string path = fmt::format("layers.{}", layer);
  b.at(path + ".ln1", Role::norm);
  ValueId h = b.rms_norm(x, names.attention_norm);
  x = b.add(x, rotary_attention(b, h, names, path));
  b.at(path + ".ln2", Role::norm);
  h = b.rms_norm(x, names.mlp_norm);
  return b.add(x, gated_mlp(b, h, names, path));
}

/// Pre-norm decoder with rotary positions (Touvron et al. 2023).
void decoder(Blocks& b, DecoderLayerNames (*names)(std::int64_t), const std::string& norm) {
  b.at("embeddings", Role::embedding);
  ValueId x = b.token_embedding();
  b.hidden(0, x);
  for (std::int64_t layer = 0; layer < b.config().layers; ++layer) {
    x = decoder_block(b, x, names(layer), layer);
    b.hidden(layer + 1, x);
  }
  b.at("ln_f", Role::norm);
  x = b.rms_norm(x, norm);
  b.language_head(x);
}

}  // namespace

const TensorNames llama_tensors = {.prefix = "model.", .embedding = "embed_tokens.weight"};
const GgufNames llama_gguf = {
    .architecture = "llama", .whole = gguf_whole, .layer = gguf_layer, .paired_rows = gguf_paired_rows};
const TensorNames cs336_tensors = {.prefix = "", .embedding = "token_embeddings.weight"};

ModelConfig parse_llama(const ConfigReader& in) {
  in.require_flag("attention_bias", false);
  in.require_flag("mlp_bias", false);
  ModelConfig c;
  c.context = in.count("max_position_embeddings");
  c.d_model = in.count("hidden_size");
  c.layers = in.count("num_hidden_layers");
  c.heads = in.count("num_attention_heads");
  c.kv_heads = in.count_or("num_key_value_heads", c.heads);
  c.head_dim = in.count_or("head_dim", 0);
  c.d_ff = in.count("intermediate_size");
  c.activation = in.activation_or("hidden_act", "silu");
  c.norm_epsilon = in.real_or("rms_norm_eps", 1e-6, norm_epsilon_range);
  c.rope_theta = read_rope_theta(in);
  c.tied_head = in.flag_or("tie_word_embeddings", false);
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
  c.rope_theta = in.real_or("rope_theta", 10000, rope_theta_range);
  c.tied_head = false;
  return c;
}

/// rope_theta stands in both places in which readers of different age look.
Json write_llama(const ModelConfig& c) {
  return {{"architectures", Json::array({"LlamaForCausalLM"})},
          {"max_position_embeddings", c.context},
          {"hidden_size", c.d_model},
          {"num_hidden_layers", c.layers},
          {"num_attention_heads", c.heads},
          {"num_key_value_heads", c.kv_heads},
          {"head_dim", c.head_dim},
          {"intermediate_size", c.d_ff},
          {"hidden_act", config_word(c.activation)},
          {"rms_norm_eps", c.norm_epsilon},
          {"rope_theta", c.rope_theta},
          {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", c.rope_theta}}},
          {"attention_bias", false},
          {"mlp_bias", false},
          {"tie_word_embeddings", c.tied_head}};
}

Json write_cs336(const ModelConfig& c) {
  return {{"context_length", c.context}, {"d_model", c.d_model}, {"num_layers", c.layers},
          {"num_heads", c.heads},        {"d_ff", c.d_ff},       {"rope_theta", c.rope_theta}};
}

Distribution initial_cs336(const Value& weight, const ModelConfig&) {
  if (weight.name == cs336_tensors.embedding) return {1, 3, 0};
  return {std::sqrt(2.0 / static_cast<double>(weight.shape[0].factor + weight.shape[1].factor)), 3, 0};
}

void emit_llama(Blocks& b) {
  decoder(b, llama_names, "norm");
}

void emit_cs336(Blocks& b) {
  decoder(b, cs336_names, "ln_final");
}

}  // namespace assay
