#include "model/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/printable.h"
#include "model/config_json.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// What families call a size.
struct SizeName {
  const char* name;
  std::vector<const char*> keys;
};
const SizeName size_names[] = {
    {"d_model", {"hidden_size", "n_embd", "d_model", "dim", "word_embed_proj_dim"}},
    {"layers", {"num_hidden_layers", "n_layer", "num_layers", "n_layers"}},
    {"heads", {"num_attention_heads", "n_head", "num_heads", "n_heads"}},
    {"kv_heads", {"num_key_value_heads", "num_kv_heads"}},
    {"d_ff", {"intermediate_size", "n_inner", "d_ff", "ffn_dim", "hidden_dim", "ffn_hidden_size"}},
    {"context", {"max_position_embeddings", "n_positions", "context_length"}},
    {"vocab_size", {"vocab_size"}},
    {"experts", {"num_local_experts", "num_experts"}},
    {"active_experts", {"num_experts_per_tok"}}};

std::string known_sizes() {
  std::string list;
  for (const SizeName& size : size_names) list += fmt::format("{}{}", list.empty() ? "" : ", ", size.name);
  return list;
}

/// Under which keys the configuration has the size; all of them are one.
std::vector<std::string> keys_of(const Json& config, const std::string& name) {
  std::vector<std::string> keys;
  const auto* known = std::find_if(std::begin(size_names), std::end(size_names),
                                   [&](const SizeName& size) { return name == size.name; });
  if (known != std::end(size_names)) {
    for (const char* key : known->keys) {
      if (config.contains(key)) keys.emplace_back(key);
    }
  }
  if (keys.empty() && config.contains(name)) keys.push_back(name);
  return keys;
}

std::optional<std::int64_t> number_in(const Json& config, const char* name) {
  const std::vector<std::string> keys = keys_of(config, name);
  if (keys.empty() || !config.at(keys.front()).is_number_integer()) return std::nullopt;
  return config.at(keys.front()).get<std::int64_t>();
}

Json value_of(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() || value.is_structured() ? Json(text) : value;
}

bool sets(const Sizes& sizes, const char* name) {
  return std::any_of(sizes.begin(), sizes.end(), [&](const auto& size) { return size.first == name; });
}

void put(Json& config, const std::string& name, const std::string& value) {
  const std::vector<std::string> keys = keys_of(config, name);
  if (keys.empty())
    fail_user("--set {}: this configuration has no such entry; it has {}, or any key of config.json", printable(name),
              known_sizes());
  for (const std::string& key : keys) config[key] = value_of(value);
}

/// Lists with an entry a layer get as many as there are layers now.
void repeat_lists(const Json& before, Json& config) {
  const std::optional<std::int64_t> had = number_in(before, "layers");
  const std::optional<std::int64_t> has = number_in(config, "layers");
  if (!had || !has || *had == *has || *had < 1) return;
  for (const auto& [key, entry] : before.items()) {
    if (!entry.is_array() || static_cast<std::int64_t>(entry.size()) != *had) continue;
    config[key] = Json::array();
    for (std::int64_t i = 0; i < *has; ++i) config[key].push_back(entry[static_cast<std::size_t>(i % *had)]);
  }
}

void follow(const Json& before, const Sizes& sizes, Json& config) {
  const std::optional<std::int64_t> heads = number_in(before, "heads");
  const std::optional<std::int64_t> width = number_in(before, "d_model");
  if (!sets(sizes, "kv_heads") && heads && number_in(before, "kv_heads") == heads)
    put(config, "kv_heads", fmt::format("{}", *number_in(config, "heads")));
  const bool was_share = heads && width && *heads > 0 && number_in(before, "head_dim") == *width / *heads;
  if (!sets(sizes, "head_dim") && was_share) config.erase("head_dim");
  repeat_lists(before, config);
}

}  // namespace

Sizes parse_sizes(std::string_view list, std::string_view option) {
  Sizes sizes;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view part = list.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == part.size())
      fail_user("{} '{}': NAME=VALUE is wanted, such as d_model=1024,layers=24", option, printable(std::string(list)));
    const std::string_view name = part.substr(0, equals);
    if (std::ranges::any_of(sizes, [&](const auto& before) { return before.first == name; }))
      fail_user("{}: '{}' stands there twice", option, printable(std::string(name)));
    sizes.emplace_back(name, part.substr(equals + 1));
    begin = end + 1;
  }
  return sizes;
}

std::string words(const Sizes& sizes) {
  std::string list;
  for (const auto& [name, value] : sizes) list += fmt::format("{}{}={}", list.empty() ? "" : ",", name, value);
  return list;
}

Json with_sizes(Json config, const Sizes& sizes) {
  const Json before = config;
  for (const auto& [name, value] : sizes) put(config, name, value);
  if (!sizes.empty()) follow(before, sizes, config);
  return config;
}

ModelConfig sized_config(const fs::path& path, const Sizes& sizes) {
  const fs::path file = is_folder(path) ? path / "config.json" : path;
  const Json json = parse_json(read_file(file, 16 << 20), file.string());
  if (!json.is_object()) fail_user("{}: is no object", file.string());
  const std::string name = sizes.empty() ? file.string() : fmt::format("{} with --set {}", file.string(), words(sizes));
  return parse_config(with_sizes(json, sizes), name);
}

ModelConfig sized_config(const ModelConfig& config, const Sizes& sizes) {
  return parse_config(with_sizes(config_json(config), sizes), "--set " + words(sizes));
}

}  // namespace assay
