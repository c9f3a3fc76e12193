#include "rules/best_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "results/identity.h"
#include "rules/verdict_parts.h"

namespace assay {
namespace {

constexpr const char* aims_of_cells[] = {"latency", "energy", "memory"};
constexpr const char* aims_of_batches[] = {"throughput"};

/// Of a loss that must be at most so much; `unit` stands behind the figures.
std::string beyond(const char* what, const std::optional<double>& loss, double most, bool counts_unmeasured) {
  if (!loss) return counts_unmeasured ? "" : fmt::format("{} was not measured", what);
  if (*loss <= most) return "";
  return fmt::format("{} {} is above {}", what, format_significant(*loss, 2), format_significant(most, 2));
}

std::vector<std::string> precisions_of(std::span<const VerdictSource> sources) {
  std::vector<std::string> names;
  for (const VerdictSource& source : sources) {
    for (const Record& record : source.records) {
      if (record.setting.engine) continue;
      const std::string name = record.setting.precision.substr(0, record.setting.precision.find('['));
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

/// Rows to choose from, in the order in which they were measured.
struct Choice {
  std::vector<const VerdictRow*> rows;
  const Record& any() const { return *rows.front()->record; }
};

bool is_only_compared(const VerdictRow& row) {
  return row.record->share->compared_only.value_or(false);
}

bool is_one_measurement(const Record& a, const Record& b) {
  return a.setting.precision == b.setting.precision && stand_together(a.setting, b.setting, Level::cell);
}

void add(const VerdictRow& row, Choice& choice) {
  const auto known = std::find_if(choice.rows.begin(), choice.rows.end(), [&](const VerdictRow* other) {
    return is_one_measurement(*other->record, *row.record);
  });
  if (known == choice.rows.end())
    choice.rows.push_back(&row);
  else if (!is_only_compared(row) || is_only_compared(**known))
    *known = &row;
}

bool differ_in_batch_alone(const Record& a, const Record& b) {
  Setting setting = a.setting;
  setting.batch = b.setting.batch;
  return stand_together(setting, b.setting, Level::cell);
}

bool are_of_one_cell(const Record& a, const Record& b) {
  return stand_together(a.setting, b.setting, Level::cell);
}

std::vector<Choice> choices_of(const std::vector<VerdictCell>& cells, bool (*together)(const Record&, const Record&)) {
  std::vector<Choice> choices;
  for (const VerdictCell& cell : cells) {
    for (const VerdictRow& row : cell.rows) {
      if (row.record == nullptr) continue;
      auto choice = std::find_if(choices.begin(), choices.end(),
                                 [&](const Choice& known) { return together(known.any(), *row.record); });
      if (choice == choices.end()) choice = choices.insert(choices.end(), Choice{});
      add(row, *choice);
    }
  }
  return choices;
}

std::string first_reason(const AimChoice& choice) {
  for (const AimRow& row : choice.rows) {
    if (!row.reason.empty()) return fmt::format("{}: {}", row.row->name, row.reason);
  }
  return "no row was measured";
}

Table::Cell figure_of(const VerdictAim& aim, const VerdictRow& row) {
  const std::optional<Gain> gain = aim.figure(row);
  if (!gain) return Absent{};
  if (!gain->range || gain->range->low == gain->range->high) return gain->value;
  return Estimate{gain->value, gain->range->low, gain->range->high};
}

AimAnswer answer_of(const char* aim, const Choice& choice) {
  const AimChoice chosen = choose(aim_named(aim), choice.rows);
  AimAnswer answer{.aim = aim, .unit = chosen.aim->unit};
  if (chosen.best == nullptr) {
    answer.reason = first_reason(chosen);
    return answer;
  }
  answer.best = chosen.best->record;
  answer.figure = figure_of(*chosen.aim, *chosen.best);
  for (const AimRow& row : chosen.rows) {
    if (row.standing == AimStanding::alike) answer.as_good.push_back(row.row->record);
    if (row.standing == AimStanding::open) answer.not_told.push_back(row.row->record);
  }
  return answer;
}

void answer(std::span<const char* const> aims, const std::vector<Choice>& choices, bool over_batches,
            std::vector<AnsweredCell>& answered) {
  for (const Choice& choice : choices) {
    AnsweredCell cell{.any = &choice.any(), .over_batches = over_batches};
    cell.answers.reserve(aims.size());
    for (const char* aim : aims) cell.answers.push_back(answer_of(aim, choice));
    answered.push_back(std::move(cell));
  }
}

}  // namespace

std::string too_lossy(const Record& row, const MostLoss& most) {
  if (is_baseline(row.setting)) return "";
  const Difference& loss = *row.difference;
  std::string why = beyond("its KL", loss.kl_mean, most.kl, most.counts_unmeasured);
  if (why.empty() && most.perplexity) {
    std::optional<double> rise;
    if (loss.delta_log_perplexity) rise = std::expm1(*loss.delta_log_perplexity);
    why = beyond("its rise of perplexity", rise, *most.perplexity, most.counts_unmeasured);
  }
  if (why.empty() && most.accuracy) {
    std::optional<double> drop;
    if (loss.accuracy_change) drop = -*loss.accuracy_change;
    why = beyond("its loss of accuracy", drop, *most.accuracy, most.counts_unmeasured);
  }
  return why;
}

std::vector<AnsweredCell> best_rows(std::span<const VerdictSource> sources, const MostLoss& most) {
  std::vector<VerdictCell> cells = verdict_cells(precisions_of(sources), sources);
  for (VerdictCell& cell : cells) {
    for (VerdictRow& row : cell.rows) {
      if (row.record != nullptr && row.unusable.empty()) row.unusable = too_lossy(*row.record, most);
    }
  }
  std::vector<AnsweredCell> answered;
  answer(aims_of_cells, choices_of(cells, are_of_one_cell), false, answered);
  answer(aims_of_batches, choices_of(cells, differ_in_batch_alone), true, answered);
  return answered;
}

}  // namespace assay
