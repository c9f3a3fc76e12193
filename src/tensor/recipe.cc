#include "tensor/recipe.h"

#include <fmt/format.h>

namespace assay {
namespace {

/// A TOML string of one line.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

/// A role is written as it is, without the mark of patterns.
bool is_role_pattern(const std::string& pattern) {
  return pattern.starts_with('@');
}

std::string recipe_key(const std::string& pattern) {
  return is_role_pattern(pattern) ? pattern.substr(1) : quoted(pattern);
}

/// The section, where it says anything.
std::string training_text(const ParameterGroups& groups) {
  if (groups.no_decay.empty() && groups.rates.empty()) return "";
  std::string text = "\n[training]\n";
  if (!groups.no_decay.empty()) text += fmt::format("no-decay = \"{}\"\n", words(groups.no_decay));
  if (!groups.rates.empty()) text += fmt::format("lr-by-role = \"{}\"\n", words(groups.rates));
  return text;
}

}  // namespace

std::string words(const RecipeLayers& layers) {
  return fmt::format("{}: '{}'", layers.place, layers.pattern.substr(is_role_pattern(layers.pattern) ? 1 : 0));
}

std::string precision_name(const Recipe& recipe) {
  return std::string(recipe_prefix) + recipe.name;
}

std::string recipe_text(const Recipe& recipe) {
  std::string text = fmt::format("[precision]\ndefault = \"{}\"\n", recipe.rest->name);
  if (recipe.kv) text += fmt::format("kv = \"{}\"\n", name(*recipe.kv));
  for (const RecipeLayers& one : recipe.layers)
    text += fmt::format("{} = \"{}\"\n", recipe_key(one.pattern), one.row->name);
  return text + training_text(recipe.training);
}

PrecisionChoice choose_precision(const Recipe& recipe, std::optional<DType> native16) {
  PrecisionChoice choice = choose_precision(recipe.rest->name, "", native16);
  if (recipe.kv) choice.overrides.push_back({Role::kv, *recipe.kv});
  for (const RecipeLayers& one : recipe.layers)
    choice.layers.push_back({one.pattern, choose_precision(one.row->name, "", native16).row});
  return choice;
}

}  // namespace assay
