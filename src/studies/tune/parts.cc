#include "studies/tune/parts.h"

#include <map>

#include "program/program.h"
#include "studies/sensitivity/alone.h"
#include "tensor/precision.h"

namespace assay {

std::vector<MixPart> parts_of(const StudiedModel& subject) {
  std::vector<MixPart> parts;
  std::map<ValueId, std::size_t> by_input;
  for (std::size_t u = 0; u < subject.units.size(); ++u) {
    if (!subject.units[u].is_linear()) continue;
    const ValueId input = linear_at(subject.built, subject.units[u].name).inputs[0];
    const auto [at, is_new] = by_input.try_emplace(input, parts.size());
    if (is_new) parts.emplace_back();
    parts[at->second].units.push_back(u);
  }
  return parts;
}

std::vector<std::string> row_names(const StudiedModel& subject) {
  std::vector<std::string> names = {subject.fp32.row.name};
  names.reserve(1 + subject.rows.size());
  for (const PrecisionChoice& row : subject.rows) names.emplace_back(row.row.name);
  return names;
}

PartOption foretold(const MixChoices& choices, const Mix& mix) {
  PartOption sum = choices.rests[mix.rest].option;
  for (std::size_t p = 0; p < mix.rows.size(); ++p) {
    const PartOption& option = choices.parts[p].options[mix.rows[p]];
    sum.cost += option.cost;
    sum.loss += option.loss;
  }
  return sum;
}

Recipe recipe_of(const StudiedModel& subject, const MixChoices& choices, const Mix& mix, const std::string& name) {
  const std::vector<std::string> names = row_names(subject);
  const MixRest& rest = choices.rests[mix.rest];
  Recipe recipe{.name = name, .rest = &find_precision(names[rest.row]), .kv = rest.kv};
  for (std::size_t p = 0; p < mix.rows.size(); ++p) {
    if (mix.rows[p] == rest.row) continue;
    for (const std::size_t unit : choices.parts[p].units)
      recipe.layers.push_back({subject.units[unit].name, &find_precision(names[mix.rows[p]])});
  }
  return recipe;
}

}  // namespace assay
