#include "model/where_to_get.h"

#include <fmt/format.h>

#include "hub/catalogue.h"
#include "hub/elsewhere.h"
#include "model/presets.h"

namespace assay {
namespace {

/// Whether the name is the preset's, or begins with it as a whole word: "distilbert-base-uncased" is of
/// distilbert-base.
bool is_of_preset(std::string_view name, const Preset& preset) {
  const std::string_view own = preset.name;
  return name.starts_with(own) && (name.size() == own.size() || name[own.size()] == '-');
}

/// The one of the longest name; null for none.
const Preset* nearest_preset(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('/') + 1);
  const Preset* best = nullptr;
  for (const Preset& preset : presets()) {
    const bool is_longer =
        best == nullptr || std::string_view(preset.name).size() > std::string_view(best->name).size();
    if (is_of_preset(last, preset) && is_longer) best = &preset;
  }
  return best;
}

std::string pullable_names() {
  std::string names;
  for (const PullableModel& model : pullable_models())
    names += (names.empty() ? "" : " and ") + std::string(model.name);
  return names;
}

}  // namespace

std::string where_to_get(std::string_view name) {
  std::string text = fmt::format("`assay pull` fetches {}", pullable_names());
  if (const Preset* preset = nearest_preset(name))
    text += fmt::format("; the nearest preset is {}, with random weights", preset->name);
  const bool may_be_published = is_repository_name(name) || is_repository_name("any/" + std::string(name));
  return may_be_published ? text + "; " + how_to_fetch(name) : text;
}

}  // namespace assay
