#include "rules/verdict.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "results/identity.h"
#include "rules/verdict_parts.h"
#include "tensor/recipe.h"

namespace assay {
namespace {

/// Of rows of one cell, or of none that anything pairs.
bool is_one_cell(const Record& a, const Record& b) {
  return stand_together(a.setting, b.setting, Level::cell) && a.setting.machine == b.setting.machine &&
         a.setting.build == b.setting.build;
}

std::string_view without_overrides(std::string_view precision) {
  return precision.substr(0, precision.find('['));
}

bool is_about(const Finding& finding, const Record& row) {
  return finding.precision == row.setting.precision && finding.model == row.setting.model &&
         finding.batch == row.setting.batch && finding.seq == row.setting.seq && finding.met != true;
}

/// Why a finding so grave stands against a row; empty where none does.
std::string objection(const Record& row, std::span<const Finding> findings, Severity least,
                      std::span<const Rule> rules_asked) {
  for (const Finding& finding : findings) {
    const bool is_asked =
        std::any_of(rules_asked.begin(), rules_asked.end(), [&](const Rule& rule) { return finding.rule == rule.id; });
    if (is_asked && finding.severity >= least && is_about(finding, row))
      return fmt::format("the finding {} stands against it", finding.rule);
  }
  return "";
}

/// The first reason that allows no better grade than D.
std::string reason_for_d(const Grade& grade) {
  const auto deciding = std::find_if(grade.trust_reasons.begin(), grade.trust_reasons.end(),
                                     [](const std::string& reason) { return reason.starts_with("D "); });
  return deciding == grade.trust_reasons.end() ? "grade D" : "grade " + *deciding;
}

/// Whether a grade that rests on samples speaks against what is asked of the row.
enum class Asked : std::uint8_t { samples, counts };

std::string why_unusable(const Record& row, std::span<const Finding> findings, Asked asked) {
  if (row.outcome.status != Status::ok)
    return fmt::format("{}: {}", name(row.outcome.status), row.outcome.reason.value_or("no reason was given"));
  if (is_altered(row)) return "it is not as it was written";
  if (asked == Asked::samples && row.grade.trust == Trust::d) return reason_for_d(row.grade);
  return objection(row, findings, Severity::high, rules());
}

void fill(VerdictRow& row, const Record& record, std::span<const Finding> findings) {
  if (row.record != nullptr) {
    row.unusable = "it stands there more than once";
    row.uncounted = row.unusable;
    return;
  }
  row.record = &record;
  row.unusable = why_unusable(record, findings, Asked::samples);
  row.uncounted = why_unusable(record, findings, Asked::counts);
  row.energy_doubt = objection(record, findings, Severity::medium, energy_rules());
}

VerdictCell blank_cell(std::span<const std::string> rows, std::size_t number) {
  VerdictCell cell;
  for (const std::string& name : rows)
    cell.rows.push_back({.name = name, .unusable = "not measured", .uncounted = "not measured", .cell = number});
  return cell;
}

}  // namespace

const Record& VerdictCell::any() const {
  return *std::find_if(rows.begin(), rows.end(), [](const VerdictRow& row) { return row.record != nullptr; })->record;
}

std::vector<VerdictCell> verdict_cells(std::span<const std::string> rows, std::span<const VerdictSource> sources) {
  std::vector<VerdictCell> cells;
  for (const VerdictSource& source : sources) {
    const std::size_t first = cells.size();
    for (const Record& record : source.records) {
      if (record.setting.engine) continue;  // Another program's is no row of ours.
      const auto asked = std::find(rows.begin(), rows.end(), without_overrides(record.setting.precision));
      if (asked == rows.end()) continue;
      auto cell = std::find_if(cells.begin() + static_cast<std::ptrdiff_t>(first), cells.end(),
                               [&](const VerdictCell& known) { return is_one_cell(known.any(), record); });
      if (cell == cells.end()) cell = cells.insert(cells.end(), blank_cell(rows, cells.size()));
      fill(cell->rows[static_cast<std::size_t>(asked - rows.begin())], record, source.findings);
    }
  }
  return cells;
}

std::vector<std::string> verdict_rows(std::span<const std::string> asked) {
  std::vector<std::string> rows;
  for (const std::string& word : asked) {
    const std::string name = word.starts_with(recipe_prefix) ? word : find_precision(word).name;
    if (std::find(rows.begin(), rows.end(), name) == rows.end()) rows.push_back(name);
  }
  if (rows.size() < 2) fail_user("--verdict {}: name at least two rows of the precision table", fmt::join(asked, ","));
  return rows;
}

bool has_row_of(std::span<const Record> records, std::span<const std::string> rows) {
  return std::any_of(records.begin(), records.end(), [&](const Record& record) {
    return !record.setting.engine &&
           std::find(rows.begin(), rows.end(), without_overrides(record.setting.precision)) != rows.end();
  });
}

void tell_verdict(std::span<const std::string> rows, Document& document) {
  const VerdictSource own{document.records, document.findings};
  tell_verdict(rows, {&own, 1}, document);
}

}  // namespace assay
