#include "model/gguf_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace assay {
namespace {

using Renamed = GgufNames::Renamed;

// GGUF has one set of names for all architectures (gguf-py's tensor_mapping.py); most families call their parameters
// what Llama calls them.
constexpr Renamed common_whole[] = {{"token_embd.weight", "embed_tokens.weight"},
                                    {"output_norm.weight", "norm.weight"},
                                    {"output_norm.bias", "norm.bias"},
                                    {"output.weight", language_head_name}};
constexpr Renamed common_layer[] = {{"attn_norm.weight", "input_layernorm.weight"},
                                    {"attn_norm.bias", "input_layernorm.bias"},
                                    {"attn_q.weight", "self_attn.q_proj.weight"},
                                    {"attn_q.bias", "self_attn.q_proj.bias"},
                                    {"attn_k.weight", "self_attn.k_proj.weight"},
                                    {"attn_k.bias", "self_attn.k_proj.bias"},
                                    {"attn_v.weight", "self_attn.v_proj.weight"},
                                    {"attn_v.bias", "self_attn.v_proj.bias"},
                                    {"attn_q_norm.weight", "self_attn.q_norm.weight"},
                                    {"attn_k_norm.weight", "self_attn.k_norm.weight"},
                                    {"attn_output.weight", "self_attn.o_proj.weight"},
                                    {"attn_output.bias", "self_attn.o_proj.bias"},
                                    {"ffn_norm.weight", "post_attention_layernorm.weight"},
                                    {"ffn_norm.bias", "post_attention_layernorm.bias"},
                                    {"ffn_gate.weight", "mlp.gate_proj.weight"},
                                    {"ffn_gate.bias", "mlp.gate_proj.bias"},
                                    {"ffn_up.weight", "mlp.up_proj.weight"},
                                    {"ffn_up.bias", "mlp.up_proj.bias"},
                                    {"ffn_down.weight", "mlp.down_proj.weight"},
                                    {"ffn_down.bias", "mlp.down_proj.bias"},
                                    {"ffn_gate_inp.weight", "mlp.gate.weight"},
                                    {"ffn_gate_exps.weight", "mlp.experts.*.gate_proj.weight"},
                                    {"ffn_up_exps.weight", "mlp.experts.*.up_proj.weight"},
                                    {"ffn_down_exps.weight", "mlp.experts.*.down_proj.weight"}};

constexpr Renamed mixtral_layer[] = {{"ffn_gate_inp.weight", "block_sparse_moe.gate.weight"},
                                     {"ffn_gate_exps.weight", "block_sparse_moe.experts.*.w1.weight"},
                                     {"ffn_up_exps.weight", "block_sparse_moe.experts.*.w3.weight"},
                                     {"ffn_down_exps.weight", "block_sparse_moe.experts.*.w2.weight"}};
constexpr Renamed gpt_oss_layer[] = {{"attn_sinks.weight", "self_attn.sinks"},
                                     {"post_attention_norm.weight", "post_attention_layernorm.weight"},
                                     {"ffn_gate_inp.weight", "mlp.router.weight"},
                                     {"ffn_gate_inp.bias", "mlp.router.bias"},
                                     {"ffn_gate_exps.bias", "mlp.experts.*.gate_proj.bias"},
                                     {"ffn_up_exps.bias", "mlp.experts.*.up_proj.bias"},
                                     {"ffn_down_exps.bias", "mlp.experts.*.down_proj.bias"}};
constexpr Renamed norms_behind_layer[] = {{"post_attention_norm.weight", "post_attention_layernorm.weight"},
                                          {"post_ffw_norm.weight", "post_feedforward_layernorm.weight"},
                                          {"ffn_norm.weight", "pre_feedforward_layernorm.weight"}};
constexpr Renamed phi3_layer[] = {{"attn_qkv.weight", "self_attn.qkv_proj.weight"},
                                  {"ffn_up.weight", "mlp.gate_up_proj.weight"}};
constexpr Renamed neox_whole[] = {{"token_embd.weight", "embed_in.weight"},
                                  {"output_norm.weight", "final_layer_norm.weight"},
                                  {"output_norm.bias", "final_layer_norm.bias"},
                                  {"output.weight", "embed_out.weight"}};
/// Queries, keys and values stand one behind the other here, not by key head as in folders.
constexpr Renamed neox_layer[] = {
    {"attn_qkv.weight", "attention.query_key_value.weight"}, {"attn_qkv.bias", "attention.query_key_value.bias"},
    {"attn_output.weight", "attention.dense.weight"},        {"attn_output.bias", "attention.dense.bias"},
    {"ffn_up.weight", "mlp.dense_h_to_4h.weight"},           {"ffn_up.bias", "mlp.dense_h_to_4h.bias"},
    {"ffn_down.weight", "mlp.dense_4h_to_h.weight"},         {"ffn_down.bias", "mlp.dense_4h_to_h.bias"}};

const char* look_up(std::span<const Renamed> own, std::span<const Renamed> common, std::string_view name) {
  for (const std::span<const Renamed> table : {own, common}) {
    for (const auto& [stored, canonical] : table) {
      if (name == stored) return canonical;
    }
  }
  return nullptr;
}

/// The stored name of a canonical one.
const char* look_back(std::span<const Renamed> own, std::span<const Renamed> common, std::string_view name) {
  for (const std::span<const Renamed> table : {own, common}) {
    for (const auto& [stored, canonical] : table) {
      // A name that the family's own table takes away means something else in the common one.
      if (name == canonical && std::string_view(look_up(own, common, stored)) == name) return stored;
    }
  }
  return nullptr;
}

enum class PairedRows : std::uint8_t { to_halves, to_pairs };

Tensor moved_rows(const TensorView& rows, std::int64_t head_dim, PairedRows direction) {
  Tensor result(rows.dtype, rows.shape);
  const std::size_t row_bytes = rows.bytes() / static_cast<std::size_t>(std::max<std::int64_t>(rows.shape[0], 1));
  for (std::int64_t row = 0; row < rows.shape[0]; ++row) {
    const std::int64_t within = row % head_dim;
    auto in_pairs = static_cast<std::size_t>(row);
    auto in_halves = static_cast<std::size_t>(row - within + within / 2 + within % 2 * (head_dim / 2));
    if (direction == PairedRows::to_pairs) std::swap(in_pairs, in_halves);
    std::memcpy(result.data() + in_halves * row_bytes, rows.data + in_pairs * row_bytes, row_bytes);
  }
  return result;
}

void imply_qwen3_moe(Json& config, const std::string&) {
  config["norm_topk_prob"] = true;
}

/// Of the largest of them scores are divided by the root of the width of a head that the width would give.
void imply_divisor(Json& config, std::int64_t layers_of_the_largest) {
  const bool is_largest = config.at("num_hidden_layers") == layers_of_the_largest;
  const auto of_width =
      config.at("hidden_size").get<std::int64_t>() / config.at("num_attention_heads").get<std::int64_t>();
  config["query_pre_attn_scalar"] = is_largest ? of_width : config.value("head_dim", std::int64_t{256});
}

void imply_gemma(Json& config, const std::string&) {
  config["hidden_act"] = "gelu_pytorch_tanh";
}

void imply_gemma2(Json& config, const std::string&) {
  config["hidden_activation"] = "gelu_pytorch_tanh";
  imply_divisor(config, 46);
}

void imply_gemma3(Json& config, const std::string&) {
  config["hidden_activation"] = "gelu_pytorch_tanh";
  imply_divisor(config, 62);
}

/// OLMo 3 bears the same name.
void imply_olmo2(Json& config, const std::string& file) {
  if (config.contains("sliding_window")) fail_user("{}: OLMo 3, with its windows, is not read from GGUF", file);
}

void imply_neox(Json& config, const std::string&) {
  config["hidden_act"] = "gelu";
}

/// YaRN's borders are not rounded here, whatever the file's own program does.
void imply_gpt_oss(Json& config, const std::string& file) {
  if (!config.at("rope_scaling").is_object() || config.at("rope_scaling").value("rope_type", "") != "yarn")
    fail_user("{}: gpt-oss without YaRN is not read", file);
  config["rope_scaling"]["truncate"] = false;
}

void imply_stablelm(Json& config, const std::string&) {
  config["use_qkv_bias"] = config.value("has_qkv_bias", false);
}

}  // namespace

const char* const gguf_paired_rows[4] = {".q_proj.weight", ".k_proj.weight", ".q_proj.bias", ".k_proj.bias"};

const GgufNames llama_gguf = {.architecture = "llama", .paired_rows = gguf_paired_rows};
const GgufNames mixtral_gguf = {
    .architecture = "llama", .layer = mixtral_layer, .paired_rows = gguf_paired_rows, .has_experts = true};
const GgufNames smollm3_gguf = {.architecture = "smollm3", .paired_rows = gguf_paired_rows};
const GgufNames granite_gguf = {.architecture = "granite", .paired_rows = gguf_paired_rows};
const GgufNames qwen2_gguf = {.architecture = "qwen2"};
const GgufNames qwen3_gguf = {.architecture = "qwen3"};
const GgufNames qwen3_moe_gguf = {.architecture = "qwen3moe", .has_experts = true, .imply = imply_qwen3_moe};
const GgufNames gpt_oss_gguf = {
    .architecture = "gpt-oss", .layer = gpt_oss_layer, .has_experts = true, .imply = imply_gpt_oss};
const GgufNames olmo2_gguf = {.architecture = "olmo2", .layer = norms_behind_layer, .imply = imply_olmo2};
const GgufNames phi3_gguf = {.architecture = "phi3", .layer = phi3_layer};
const GgufNames stablelm_gguf = {.architecture = "stablelm", .imply = imply_stablelm};
const GgufNames gpt_neox_gguf = {
    .architecture = "gptneox", .whole = neox_whole, .layer = neox_layer, .imply = imply_neox};
const GgufNames gemma_gguf = {.architecture = "gemma", .norm_shift = 1, .imply = imply_gemma};
const GgufNames gemma2_gguf = {
    .architecture = "gemma2", .layer = norms_behind_layer, .norm_shift = 1, .imply = imply_gemma2};
const GgufNames gemma3_gguf = {
    .architecture = "gemma3", .layer = norms_behind_layer, .norm_shift = 1, .imply = imply_gemma3};

std::string canonical_gguf_name(std::string_view name, const GgufNames& names) {
  if (const char* whole = look_up(names.whole, common_whole, name)) return whole;
  const std::size_t dot = name.starts_with("blk.") ? name.find('.', 4) : std::string_view::npos;
  if (dot == std::string_view::npos) return std::string(name);
  const char* known = look_up(names.layer, common_layer, name.substr(dot + 1));
  return known == nullptr ? std::string(name) : fmt::format("layers.{}.{}", name.substr(4, dot - 4), known);
}

std::string gguf_name(const std::string& canonical, const GgufNames& names) {
  if (const char* whole = look_back(names.whole, common_whole, canonical)) return whole;
  constexpr std::string_view layers = "layers.";
  const std::size_t dot = canonical.starts_with(layers) ? canonical.find('.', layers.size()) : std::string::npos;
  if (dot == std::string::npos) return "";
  const char* known = look_back(names.layer, common_layer, canonical.substr(dot + 1));
  return known == nullptr ? "" : fmt::format("blk.{}.{}", canonical.substr(layers.size(), dot - layers.size()), known);
}

bool is_gguf_norm(const std::string& canonical) {
  return canonical.ends_with("norm.weight");
}

Tensor rows_in_halves(const TensorView& rows, std::int64_t head_dim) {
  return moved_rows(rows, head_dim, PairedRows::to_halves);
}

Tensor rows_in_pairs(const TensorView& rows, std::int64_t head_dim) {
  return moved_rows(rows, head_dim, PairedRows::to_pairs);
}

}  // namespace assay
