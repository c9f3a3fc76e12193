#include "model/gguf_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/json.h"
#include "model/config_json.h"
#include "model/families.h"

namespace assay {
namespace {

using Kind = GgufEntryName::Kind;

constexpr GgufEntryName needed_entries[] = {
    {"embedding_length", "hidden_size", Kind::whole},
    {"block_count", "num_hidden_layers", Kind::whole},
    {"attention.head_count", "num_attention_heads", Kind::whole},
    {"feed_forward_length", "intermediate_size", Kind::whole},
    {"context_length", "max_position_embeddings", Kind::whole},
};

constexpr GgufEntryName entry_names[] = {
    {"attention.head_count_kv", "num_key_value_heads", Kind::whole},
    {"attention.key_length", "head_dim", Kind::whole},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", Kind::real, &norm_epsilon_range},
    {"attention.layer_norm_epsilon", "layer_norm_eps", Kind::real, &norm_epsilon_range},
    {"attention.sliding_window", "sliding_window", Kind::whole},
    {"attention.scale", "attention_multiplier", Kind::real, &scale_range},
    {"attn_logit_softcapping", "attn_logit_softcapping", Kind::real, &cap_range},
    {"final_logit_softcapping", "final_logit_softcapping", Kind::real, &cap_range},
    {"embedding_scale", "embedding_multiplier", Kind::real, &scale_range},
    {"residual_scale", "residual_multiplier", Kind::real, &scale_range},
    {"logit_scale", "logits_scaling", Kind::real, &scale_range},
    {"rope.freq_base", "rope_theta", Kind::real, &rope_theta_range},
    {"rope.freq_base_swa", "rope_local_base_freq", Kind::real, &rope_theta_range},
    {"use_parallel_residual", "use_parallel_residual", Kind::flag},
    {"expert_count", "num_local_experts", Kind::whole},
    {"expert_used_count", "num_experts_per_tok", Kind::whole},
    {"expert_feed_forward_length", "moe_intermediate_size", Kind::whole},
};

/// Entries of config.json that change nothing that a run computes.
constexpr const char* idle_entries[] = {"architectures", "initializer_range", "pad_token_id", "model_type"};

GgufEntry written_entry(const std::string& key, const GgufEntryName& name, const Json& value) {
  if (name.kind == Kind::flag) return gguf_truth(key, value.get<bool>());
  if (name.kind == Kind::real) return gguf_number(key, value.get<float>());
  return gguf_count(key, value.get<std::uint32_t>());
}

bool is_writable(const GgufEntryName& name, const Json& value) {
  if (name.kind == Kind::flag) return value.is_boolean();
  return name.kind == Kind::real ? value.is_number()
                                 : value.is_number_unsigned() || (value.is_number_integer() && value >= 0);
}

std::int64_t turned_columns_of(const ModelConfig& config) {
  return config.rotary.columns > 0 ? config.rotary.columns : config.head_dim;
}

/// Linear and YaRN's; what others are is in tensors, or in no file.
void add_scaling(const RopeScaling& scaling, const std::string& prefix, std::vector<GgufEntry>& entries) {
  if (scaling.type != RopeType::linear && scaling.type != RopeType::yarn) return;
  entries.push_back(gguf_text(prefix + "rope.scaling.type", name(scaling.type)));
  entries.push_back(gguf_number(prefix + "rope.scaling.factor", static_cast<float>(scaling.factor)));
  if (scaling.type == RopeType::yarn)
    entries.push_back(
        gguf_count(prefix + "rope.scaling.original_context_length", static_cast<std::uint32_t>(scaling.original)));
}

/// What config.json says of biases, which no entry of a file does.
constexpr const char* bias_entries[] = {"attention_bias", "mlp_bias", "use_qkv_bias", "bias"};

/// Numbers as far as f32 has them, in which files and kernels do.
bool is_equal_entry(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return a.get<float>() == b.get<float>();
  if (!a.is_structured() || a.type() != b.type() || a.size() != b.size()) return a == b;
  if (a.is_array()) return std::equal(a.begin(), a.end(), b.begin(), is_equal_entry);
  for (const auto& [key, value] : a.items()) {
    if (!b.contains(key) || !is_equal_entry(value, b.at(key))) return false;
  }
  return true;
}

bool is_idle(const std::string& key) {
  return std::any_of(std::begin(idle_entries), std::end(idle_entries), [&](const char* idle) { return key == idle; });
}

/// Of a scaling that a tensor says.
bool is_in_tensors(const std::string& key, const ModelConfig& config) {
  return key.starts_with("rope_") && config.rotary.scaling.type == RopeType::llama3;
}

}  // namespace

std::span<const GgufEntryName> needed_gguf_entries() {
  return needed_entries;
}

std::span<const GgufEntryName> gguf_entry_names() {
  return entry_names;
}

std::vector<GgufEntry> gguf_config_entries(const ModelConfig& config) {
  const std::string prefix = std::string(config.family->gguf->architecture) + ".";
  const Json json = config_json(config);
  std::vector<GgufEntry> entries;
  for (const auto names : {needed_gguf_entries(), gguf_entry_names()}) {
    for (const GgufEntryName& name : names) {
      if (json.contains(name.name) && is_writable(name, json.at(name.name)))
        entries.push_back(written_entry(prefix + name.stored, name, json.at(name.name)));
    }
  }
  entries.push_back(gguf_count(prefix + "attention.value_length", static_cast<std::uint32_t>(config.head_dim)));
  entries.push_back(gguf_count(prefix + "rope.dimension_count", static_cast<std::uint32_t>(turned_columns_of(config))));
  entries.push_back(gguf_count(prefix + "vocab_size", static_cast<std::uint32_t>(config.vocab_size)));
  add_scaling(config.rotary.scaling, prefix, entries);
  return entries;
}

std::string gguf_hindrance(const ModelConfig& config, const std::string& name) {
  Json json = config_json(config);
  for (const char* entry : bias_entries) json.erase(entry);
  json["has_qkv_bias"] = config.qkv_bias == Bias::present;  // Which tensors say.
  if (config.family->gguf->imply != nullptr) config.family->gguf->imply(json, name);
  return gguf_difference(config, parse_config(json, name));
}

std::vector<float> gguf_rope_divisors(const ModelConfig& config) {
  const RopeScaling& s = config.rotary.scaling;
  std::vector<float> divisors;
  if (s.type != RopeType::llama3) return divisors;
  const std::int64_t columns = turned_columns_of(config);
  for (std::int64_t i = 0; i < columns; i += 2) {
    const double exponent = static_cast<double>(i) / static_cast<double>(columns);
    const double wavelength = 2 * std::numbers::pi * std::pow(config.rotary.theta, exponent);
    const double turns = static_cast<double>(s.original) / wavelength;
    const double share = std::clamp((turns - s.low) / (s.high - s.low), 0.0, 1.0);
    divisors.push_back(static_cast<float>(1 / ((1 - share) / s.factor + share)));
  }
  return divisors;
}

std::string gguf_difference(const ModelConfig& config, const ModelConfig& read) {
  const Json is = config_json(config);
  const Json said = config_json(read);
  for (const auto& [key, value] : is.items()) {
    if (is_idle(key) || is_in_tensors(key, config)) continue;
    const Json other = said.value(key, Json());
    if (!is_equal_entry(value, other))
      return fmt::format("'{}' is {}, and such a file says {}", key, value.dump(), other.dump());
  }
  return "";
}

}  // namespace assay
