#include "formats/recipe_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "formats/toml.h"
#include "tensor/baseline_precision.h"

namespace assay {
namespace {

/// A key with its value and where it stands.
struct RecipeEntry {
  std::string key;
  const toml::node* value;

  auto position() const { return std::tuple(value->source().begin.line, value->source().begin.column); }
};

[[noreturn]] void fail_recipe(const std::string& place, const std::string& what) {
  fail_user("{}: {}", place, what);
}

std::string place_of_node(const std::string& source, const toml::node& node) {
  return fmt::format("{}:{}", source, node.source().begin.line);
}

/// Keys with dots that were not quoted are tables to TOML, and paths here.
void collect_entries(const toml::table& table, const std::string& prefix, std::vector<RecipeEntry>& entries) {
  for (const auto& [key, node] : table) {
    const std::string path = prefix + std::string(std::string_view(key));
    if (node.is_table())
      collect_entries(*node.as_table(), path + ".", entries);
    else
      entries.push_back({path, &node});
  }
}

/// In the order of the file, which a table has not.
std::vector<RecipeEntry> entries_of(const toml::table& table, const std::string& source) {
  std::vector<RecipeEntry> entries;
  collect_entries(table, "", entries);
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.position() < b.position(); });
  std::map<std::string, std::string> places;
  for (const RecipeEntry& entry : entries) {
    const std::string place = place_of_node(source, *entry.value);
    const auto [known, is_new] = places.emplace(entry.key, place);
    if (!is_new) fail_recipe(place, fmt::format("'{}' stands twice, first at {}", printable(entry.key), known->second));
  }
  return entries;
}

const Precision* row_of(const std::string& word, const std::string& place) {
  try {
    return &find_precision(word);
  } catch (const Error& error) {
    fail_recipe(place, error.what());
  }
}

/// What the role can be is the precision table's to say.
DType kept_dtype(const std::string& word, const std::string& place) {
  try {
    return *choose_precision("fp32", "kv=" + word, std::nullopt).override_for(Role::kv);
  } catch (const Error&) {
    fail_recipe(place, fmt::format("kv can be f32, f16, bf16 or s8, not '{}'", printable(word)));
  }
}

void take_entry(const RecipeEntry& entry, const std::string& source, Recipe& recipe) {
  const std::string place = place_of_node(source, *entry.value);
  if (!entry.value->is_string())
    fail_recipe(place, fmt::format("'{}' must be a precision in quotes", printable(entry.key)));
  const std::string word = entry.value->as_string()->get();
  if (entry.key.empty()) fail_recipe(place, "a key without a character names no layer");
  if (entry.key == "default") {
    recipe.rest = row_of(word, place);
  } else if (entry.key == "kv") {
    recipe.kv = kept_dtype(word, place);
  } else {
    const bool is_role = parse_role(entry.key).has_value();
    recipe.layers.push_back({is_role ? "@" + entry.key : entry.key, row_of(word, place), place});
  }
}

void take_training_entry(const RecipeEntry& entry, const std::string& source, ParameterGroups& groups) {
  const std::vector<std::string> known = {"no-decay", "lr-by-role"};
  const std::string place = place_of_node(source, *entry.value);
  if (std::ranges::find(known, entry.key) == known.end())
    fail_recipe(place, fmt::format("'{}' is no key of [training], which has {}{}", printable(entry.key),
                                   fmt::join(known, " and "), did_you_mean(entry.key, known)));
  if (!entry.value->is_string()) fail_recipe(place, fmt::format("'{}' must be words in quotes", entry.key));
  const std::string word = entry.value->as_string()->get();
  const std::string option = fmt::format("{}: {}", place, entry.key);
  if (entry.key == known.front()) groups.no_decay = parse_no_decay(word, option);
  if (entry.key == known.back()) groups.rates = parse_role_rates(word, option);
}

void check_sections(const toml::table& root, const std::string& source) {
  const std::vector<std::string> known = {"precision", "training"};
  for (const auto& [key, node] : root) {
    const std::string word{std::string_view(key)};
    if (std::ranges::find(known, word) == known.end())
      fail_recipe(place_of_node(source, node),
                  fmt::format("'{}' is no section of a recipe, which has [precision] and [training]{}", printable(word),
                              did_you_mean(word, known)));
    if (!node.is_table()) fail_recipe(place_of_node(source, node), fmt::format("'{0}' must be a section, [{0}]", word));
  }
}

}  // namespace

Recipe parse_recipe(std::string_view text, const std::string& source) {
  Recipe recipe{.name = std::filesystem::path(source).stem().string(), .rest = &baseline_precision()};
  try {
    const toml::table root = toml::parse(text, source);
    check_sections(root, source);
    const toml::table* precision = root["precision"].as_table();
    if (precision == nullptr) fail_recipe(source + ":1", "has no section [precision]");
    for (const RecipeEntry& entry : entries_of(*precision, source)) take_entry(entry, source, recipe);
    if (const toml::table* training = root["training"].as_table(); training != nullptr) {
      for (const RecipeEntry& entry : entries_of(*training, source))
        take_training_entry(entry, source, recipe.training);
    }
  } catch (const toml::parse_error& error) {
    fail_recipe(fmt::format("{}:{}", source, error.source().begin.line), std::string(error.description()));
  }
  return recipe;
}

Recipe load_recipe(const std::filesystem::path& file) {
  return parse_recipe(read_file(file), file.string());
}

}  // namespace assay
