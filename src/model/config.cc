#include "model/config.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "model/config_reader.h"
#include "model/families.h"
#include "model/text_part.h"

namespace assay {
namespace {

/// What the family's `pad_token_id` says of the embedding's gradient.
std::optional<std::int64_t> padding_id(const ConfigReader& in, Padding padding, std::int64_t vocabulary) {
  if (padding == Padding::no_entry || padding == Padding::no_effect) return std::nullopt;
  if (!in.json().contains("pad_token_id"))
    return padding == Padding::first_id ? std::optional<std::int64_t>(0) : std::nullopt;
  const Json& value = in.json().at("pad_token_id");
  if (value.is_null()) return std::nullopt;
  // PyTorch counts a negative one from the end of the table; -1 is what old files say for "none".
  if (value.is_number_integer() && value == -1) return std::nullopt;
  if (!value.is_number_integer() || value < 0 || value >= vocabulary)
    fail_user("{}: 'pad_token_id' is no id below the vocabulary of {}", in.file(), vocabulary);
  return value.get<std::int64_t>();
}

std::string known_families() {
  std::string names;
  for (const Family& family : families()) names += (names.empty() ? "" : ", ") + std::string(family.name);
  return names;
}

[[noreturn]] void fail_unknown(const ConfigReader& in, const std::string& type) {
  fail_user("{}: model_type '{}' is unknown; known are {}, and the text parts of {}", in.file(), printable(type, 60),
            known_families(), text_part_types());
}

const Family& family_of(const ConfigReader& in) {
  const std::string type = in.text_or("model_type", "");
  if (type.empty()) fail_user("{}: 'model_type' is missing", in.file());
  const Family* const family = find_family(type);
  if (family == nullptr) fail_unknown(in, type);
  return *family;
}

}  // namespace

const char* name(Task task) {
  switch (task) {
    case Task::language_model:
      return "language model";
    case Task::classification:
      return "classification";
    case Task::embedding:
      return "embedding";
    case Task::token_classification:
      return "token classifier";
    case Task::masked_language_model:
      return "masked language model";
  }
  return "?";
}

bool labels_tokens(Task task) {
  return predicts_tokens(task) || task == Task::token_classification;
}

bool predicts_tokens(Task task) {
  return task == Task::language_model || task == Task::masked_language_model;
}

std::int64_t class_count(const ModelConfig& config) {
  return predicts_tokens(config.task) ? config.vocab_size : config.labels;
}

ModelConfig parse_config(const Json& json, const std::string& file) {
  if (const TextPart* part = find_text_part(json, file)) {
    ModelConfig config = parse_config(text_config(*part, json, file), file);
    config.whole = part;
    return config;
  }
  const ConfigReader in(json, file);
  const Family& family = family_of(in);
  ModelConfig config = family.parse(in);
  config.family = &family;
  config.vocab_size = in.count("vocab_size");
  config.padding_id = padding_id(in, family.padding, config.vocab_size);
  config.initializer_range = in.real_or("initializer_range", 0.02, initializer_range);
  config.head_dim = head_dim_or(in, config.head_dim, config);
  check_config(config, file);
  return config;
}

std::int64_t inactive_parameters(const ModelConfig& c) {
  const auto listed = std::count_if(c.expert_layers.begin(), c.expert_layers.end(), [](auto has) { return has != 0; });
  const std::int64_t layers = c.expert_layers.empty() ? c.layers : listed;
  const std::int64_t biases = c.expert_bias == Bias::present ? 2 * c.expert_d_ff + c.d_model : 0;
  return layers * (c.experts - c.active_experts) * (3 * c.d_model * c.expert_d_ff + biases);
}

std::int64_t head_dim_or(const ConfigReader& in, std::int64_t head_dim, const ModelConfig& config) {
  if (head_dim > 0) return head_dim;
  if (config.d_model % config.heads == 0) return config.d_model / config.heads;
  fail_user("{}: {} heads do not divide the width {}", in.file(), config.heads, config.d_model);
}

double checked_real(double value, const RealRange& range, const std::string& file, std::string_view key) {
  if (std::isfinite(value) && range.least <= value && value <= range.most) return value;
  fail_user("{}: '{}' is {}, {} is needed: a number from {:g} to {:g}", file, key, value, range.what, range.least,
            range.most);
}

void check_config(const ModelConfig& c, const std::string& file) {
  // Far above every published model; below what would overflow a product of two of them.
  constexpr std::int64_t widest = 1 << 20;
  constexpr std::int64_t deepest = 4096;
  if (c.d_model > widest || c.d_ff > widest * 8 || c.heads > widest || c.head_dim > widest || c.layers > deepest) {
    fail_user("{}: width {}, inner width {}, {} heads, {} layers: too large to be a model", file, c.d_model, c.d_ff,
              c.heads, c.layers);
  }
  if (c.heads % c.kv_heads != 0) fail_user("{}: {} key/value heads do not divide {} heads", file, c.kv_heads, c.heads);
  if (c.family->rotary && c.head_dim % 2 != 0)
    fail_user("{}: rotary embeddings need an even head size, it is {}", file, c.head_dim);
}

}  // namespace assay
