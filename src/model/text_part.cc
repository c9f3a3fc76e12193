#include "model/text_part.h"

#include <fmt/format.h>

#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"

namespace assay {
namespace {

// A new row needs a fixture in tests/fixtures/models: a model whose text part computes what the family does.
constexpr const char* gemma3_defaults =
    R"({"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262208,
        "max_position_embeddings": 131072, "rms_norm_eps": 1e-6, "tie_word_embeddings": true})";
constexpr const char* llama_defaults =
    R"({"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
        "max_position_embeddings": 2048})";
constexpr TextPart parts[] = {
    {"gemma3", "gemma3_text", "gemma3_text", "the vision tower", gemma3_defaults},
    {"mistral3", "mistral", "mistral", "the vision tower", "{}"},
    {"llava", "llama", "llama", "the vision tower", llama_defaults},
};

std::string type_in(const Json& json) {
  const bool is_named = json.is_object() && json.contains("model_type") && json["model_type"].is_string();
  return is_named ? json["model_type"].get<std::string>() : "";
}

/// Begin the names of what is no text's, also behind "model.".
constexpr std::string_view beside[] = {"vision_tower.", "multi_modal_projector."};

struct TextRenamed {
  std::string_view stored;
  std::string_view alone;
};
/// As published files have it, and as transformers 5 writes it.
constexpr TextRenamed renamed[] = {
    {"language_model.model.", "model."}, {"model.language_model.", "model."}, {"language_model.lm_head.", "lm_head."}};

}  // namespace

const TextPart* find_text_part(const Json& config, const std::string& file) {
  const std::string type = type_in(config);
  const bool has_text = config.is_object() && config.contains("text_config") && config["text_config"].is_object();
  const std::string text = has_text ? type_in(config["text_config"]) : "";
  std::string known;
  for (const TextPart& part : parts) {
    if (type != part.model_type) continue;
    if (!has_text) fail_user("{}: model_type '{}' lacks 'text_config', which says what reads its text", file, type);
    if (text.empty() || text == part.text_type) return &part;
    known += (known.empty() ? "" : ", ") + std::string(part.text_type);
  }
  if (known.empty()) return nullptr;
  fail_user("{}: the text part of model_type '{}' is a '{}'; {} is known", file, type, printable(text, 60), known);
}

std::string text_part_types() {
  std::string types;
  for (const TextPart& part : parts) types += (types.empty() ? "" : ", ") + std::string(part.model_type);
  return types;
}

Json text_config(const TextPart& part, const Json& config, const std::string& file) {
  Json text = parse_json(part.defaults, file);
  text.update(config.at("text_config"));
  text["model_type"] = part.family;
  for (const char* key : {"tie_word_embeddings", "quantization_config"}) {
    if (config.contains(key)) text[key] = config.at(key);
  }
  return text;
}

std::optional<std::string> name_in_text_part(const std::string& tensor) {
  const std::string_view name = std::string_view(tensor).substr(tensor.starts_with("model.") ? 6 : 0);
  for (const std::string_view beginning : beside) {
    if (name.starts_with(beginning)) return std::nullopt;
  }
  for (const TextRenamed& one : renamed) {
    if (tensor.starts_with(one.stored)) return std::string(one.alone) + tensor.substr(one.stored.size());
  }
  return tensor;
}

}  // namespace assay
