#include "model/experts.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "model/decoder.h"
#include "model/families.h"
#include "model/llama.h"
#include "model/qwen.h"

namespace assay {
namespace {

constexpr DecoderWords mixtral_words = {.epsilon = 1e-5, .rotary = {.theta = 1e6}, .windowed = Windowed::all};

constexpr ExpertNames mixtral_experts = {
    .router = "block_sparse_moe.gate", .list = "block_sparse_moe.experts", .gate = "w1", .up = "w3", .down = "w2"};
constexpr ExpertNames qwen_experts = {
    .router = "mlp.gate", .list = "mlp.experts", .gate = "gate_proj", .up = "up_proj", .down = "down_proj"};

constexpr ExpertNames gpt_oss_experts = {
    .router = "mlp.router", .list = "mlp.experts", .gate = "gate_proj", .up = "up_proj", .down = "down_proj"};
constexpr DecoderWords gpt_oss_words = {
    .epsilon = 1e-5, .rotary = {.theta = 150000}, .windowed = Windowed::listed, .window = 128, .whole_layer_every = 2};
constexpr DecoderWords qwen_moe_words = {.windowed = Windowed::all, .window_is_asked_for = true, .window = 4096};
constexpr RealRange clamp_range = {"what clamps a gate", 1e-3, 1e6};

/// What its configuration class fills in where nothing is said.
Json with_usual_values(const Json& said) {
  Json json = said;
  json.emplace("head_dim", 64);
  json.emplace("num_key_value_heads", 8);
  if (!json.contains("rope_parameters") && !json.contains("rope_scaling"))
    json["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 32.0},    {"beta_fast", 32.0},
                            {"beta_slow", 1.0},    {"truncate", false}, {"original_max_position_embeddings", 4096}};
  return json;
}

void check_experts(const ConfigReader& in, const ModelConfig& c) {
  constexpr std::int64_t most = 4096;  // Published models have up to 512.
  if (c.experts > most) fail_user("{}: {} experts: too many to be a model", in.file(), c.experts);
  if (c.active_experts > c.experts)
    fail_user("{}: {} of {} experts cannot be active", in.file(), c.active_experts, c.experts);
}

/// `mlp_only_layers` lists layers without experts; of the others every `decoder_sparse_step`-th has them.
std::vector<std::uint8_t> qwen_expert_layers(const ConfigReader& in, std::int64_t layers) {
  const std::int64_t step = in.count_or("decoder_sparse_step", 1);
  std::vector<std::uint8_t> has;
  for (std::int64_t layer = 0; layer < layers; ++layer) has.push_back((layer + 1) % step == 0 ? 1 : 0);
  if (in.has("mlp_only_layers")) {
    for (const Json& layer : in.json().at("mlp_only_layers")) {
      if (!layer.is_number_integer() || layer < 0 || layer >= layers)
        fail_user("{}: 'mlp_only_layers' is no list of layers", in.file());
      has[layer.get<std::size_t>()] = 0;
    }
  }
  const bool all = std::find(has.begin(), has.end(), 0) == has.end();
  return all ? std::vector<std::uint8_t>() : has;
}

}  // namespace

ModelConfig parse_mixtral(const ConfigReader& in) {
  ModelConfig c = parse_decoder(in, mixtral_words);
  c.experts = in.count_or("num_local_experts", 8);
  c.active_experts = in.count_or("num_experts_per_tok", 2);
  c.expert_d_ff = c.d_ff;
  c.normalised_experts = true;
  c.router_loss = in.flag_or("output_router_logits", false);
  check_experts(in, c);
  return c;
}

Json write_mixtral(const ModelConfig& c) {
  Json json = write_decoder(c, "MixtralForCausalLM", mixtral_words);
  json["num_local_experts"] = c.experts;
  json["num_experts_per_tok"] = c.active_experts;
  return json;
}

void emit_mixtral(Blocks& b) {
  DecoderNames names = llama_names;
  names.experts = mixtral_experts;
  emit_decoder(b, names);
}

ModelConfig parse_qwen3_moe(const ConfigReader& in) {
  ModelConfig c = parse_decoder(in, qwen_moe_words);
  c.qkv_bias = c.out_bias = in.flag_or("attention_bias", false) ? Bias::present : Bias::absent;
  c.head_norm = HeadNorm::head;
  c.experts = in.count_or("num_experts", in.count_or("num_local_experts", 128));
  c.active_experts = in.count_or("num_experts_per_tok", 8);
  c.expert_d_ff = in.count_or("moe_intermediate_size", 768);
  c.normalised_experts = in.flag_or("norm_topk_prob", false);
  c.expert_layers = qwen_expert_layers(in, c.layers);
  c.router_loss = in.flag_or("output_router_logits", false);
  check_experts(in, c);
  return c;
}

Json write_qwen3_moe(const ModelConfig& c) {
  Json json = write_decoder(c, "Qwen3MoeForCausalLM", qwen_moe_words);
  json["attention_bias"] = c.qkv_bias == Bias::present;
  json["num_experts"] = c.experts;
  json["num_experts_per_tok"] = c.active_experts;
  json["moe_intermediate_size"] = c.expert_d_ff;
  json["norm_topk_prob"] = c.normalised_experts;
  Json plain = Json::array();
  for (std::size_t layer = 0; layer < c.expert_layers.size(); ++layer) {
    if (c.expert_layers[layer] == 0) plain.push_back(layer);
  }
  json["mlp_only_layers"] = std::move(plain);
  return json;
}

void emit_qwen3_moe(Blocks& b) {
  DecoderNames names = with_head_norms(llama_names);
  names.experts = qwen_experts;
  emit_decoder(b, names);
}

const TensorNames gpt_oss_tensors = {.prefix = "model.", .embedding = "embed_tokens.weight", .joined_experts = true};

ModelConfig parse_gpt_oss(const ConfigReader& said) {
  const Json json = with_usual_values(said.json());
  const ConfigReader in(json, said.file());
  ModelConfig c = parse_decoder(in, gpt_oss_words);
  c.qkv_bias = c.out_bias = in.flag_or("attention_bias", true) ? Bias::present : Bias::absent;
  c.experts = in.count_or("num_local_experts", in.count_or("num_experts", 128));
  c.active_experts = in.count_or("num_experts_per_tok", in.count_or("experts_per_token", 4));
  c.expert_d_ff = c.d_ff;
  c.normalised_experts = true;  // Softmax over those that were taken.
  c.router_bias = c.expert_bias = Bias::present;
  c.expert_cap = in.real_or("swiglu_limit", 7, clamp_range);
  c.expert_scale = in.real_or("swiglu_alpha", 1.702, clamp_range);
  c.sinks = true;
  check_experts(in, c);
  return c;
}

Json write_gpt_oss(const ModelConfig& c) {
  Json json = write_decoder(c, "GptOssForCausalLM", gpt_oss_words);
  json["attention_bias"] = c.qkv_bias == Bias::present;
  json["num_local_experts"] = c.experts;
  json["num_experts_per_tok"] = c.active_experts;
  json["swiglu_limit"] = c.expert_cap;
  json["swiglu_alpha"] = c.expert_scale;
  return json;
}

void emit_gpt_oss(Blocks& b) {
  DecoderNames names = llama_names;
  names.sinks = "self_attn.sinks";
  names.experts = gpt_oss_experts;
  emit_decoder(b, names);
}

}  // namespace assay
