#include "model/end_ids.h"

#include <limits>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "formats/gguf.h"

namespace assay {
namespace {

constexpr const char* end_key = "eos_token_id";

std::int32_t checked_id(const Json& value, const std::string& file) {
  const bool is_id = value.is_number_integer() && value.get<std::int64_t>() >= 0 &&
                     value.get<std::int64_t>() <= std::numeric_limits<std::int32_t>::max();
  if (!is_id) fail_user("{}: '{}' holds something else than a token id", file, end_key);
  return value.get<std::int32_t>();
}

/// Of a configuration, else of the part of it that reads text; null where neither says them.
Json end_entry(const Json& config) {
  if (config.contains(end_key) && !config[end_key].is_null()) return config[end_key];
  constexpr const char* text_key = "text_config";
  return config.contains(text_key) && config[text_key].is_object() ? config[text_key].value(end_key, Json()) : Json();
}

/// Absent where the file is, or has no such entry.
std::optional<std::vector<std::int32_t>> ids_in(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  const Json json = parse_json(read_file(file), file.string());
  if (!json.is_object()) fail_user("{}: is no object", file.string());
  const Json value = end_entry(json);
  if (value.is_null()) return std::nullopt;
  if (!value.is_array()) return std::vector<std::int32_t>{checked_id(value, file.string())};
  std::vector<std::int32_t> ids;
  ids.reserve(value.size());
  for (const Json& one : value) ids.push_back(checked_id(one, file.string()));
  return ids;
}

std::vector<std::int32_t> ids_of_gguf(const std::filesystem::path& path) {
  const Gguf file = open_gguf(path);
  std::vector<std::int32_t> ids;
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"}) {
    if (file.find(key) != nullptr) ids.push_back(checked_id(Json(file.integer(key)), path.string()));
  }
  return ids;
}

}  // namespace

std::vector<std::int32_t> end_ids(const std::filesystem::path& checkpoint) {
  if (has_ending(checkpoint, ".gguf")) return ids_of_gguf(checkpoint);
  const std::filesystem::path folder =
      std::filesystem::is_directory(checkpoint) ? checkpoint : checkpoint.parent_path();
  if (const auto ids = ids_in(folder / "generation_config.json")) return *ids;
  return ids_in(folder / "config.json").value_or(std::vector<std::int32_t>());
}

}  // namespace assay
