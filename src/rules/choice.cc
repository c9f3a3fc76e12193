#include "rules/choice.h"

#include <algorithm>
#include <variant>

#include "rules/verdict_parts.h"

namespace assay {
namespace {

/// Of the asked mode: decoding and reading its prompt are cells of one run.
const VerdictCell* cell_in_mode(const std::vector<VerdictCell>& cells, Mode mode) {
  const auto found = std::find_if(cells.begin(), cells.end(),
                                  [&](const VerdictCell& cell) { return cell.any().setting.mode == mode; });
  return found == cells.end() ? nullptr : &*found;
}

ChoiceRow row_with_figure(const VerdictAim& aim, const AimRow& standing) {
  const VerdictRow& row = *standing.row;
  ChoiceRow choice{.name = row.name, .standing = standing.standing, .reason = standing.reason};
  const std::string lacks = row.record == nullptr ? row.unusable : aim.lacks(row);
  if (!lacks.empty()) {
    choice.figure = Absent{standing.reason};
    return choice;
  }
  choice.figure = gain_cell(aim.figure(row));
  choice.words = aim.figure_words(*row.record);
  if (standing.gain) choice.against_best = gain_words(aim, standing);
  return choice;
}

}  // namespace

std::optional<double> ChoiceRow::number() const {
  if (const auto* estimate = std::get_if<Estimate>(&figure)) return estimate->value;
  const auto* value = std::get_if<double>(&figure);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::vector<ChoiceRow> choice_of(const ChoiceQuestion& question, std::span<const std::string> names,
                                 const VerdictSource& source) {
  const VerdictAim& aim = aim_named(question.aim);
  const std::vector<VerdictCell> cells = verdict_cells(names, {&source, 1});
  const VerdictCell* const cell = cell_in_mode(cells, question.mode);
  std::vector<ChoiceRow> rows;
  rows.reserve(names.size());
  if (cell == nullptr) {
    for (const std::string& one : names)
      rows.push_back({.name = one, .figure = Absent{"not measured"}, .reason = "not measured"});
    return rows;
  }
  std::vector<const VerdictRow*> asked;
  asked.reserve(cell->rows.size());
  for (const VerdictRow& row : cell->rows) asked.push_back(&row);
  for (const AimRow& row : choose(aim, asked).rows) rows.push_back(row_with_figure(aim, row));
  return rows;
}

}  // namespace assay
