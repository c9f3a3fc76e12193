#include "report/shown_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/number_text.h"
#include "report/phrases.h"

namespace assay {
namespace {

/// A state as it should be, or a figure that is absent for no reason worth a word.
bool says_nothing(const Table::Cell& cell) {
  const auto* status = std::get_if<RowStatus>(&cell);
  const auto* absent = std::get_if<Absent>(&cell);
  return (status != nullptr && status->status == Status::ok) || (absent != nullptr && absent->reason.empty());
}

/// Numbers of the columns that are shown.
std::vector<std::size_t> shown_columns(const Table& table, Detail detail) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const bool is_empty =
        std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) { return says_nothing(row[i]); });
    if (shows(detail, table.columns[i].detail) && !is_empty) shown.push_back(i);
  }
  return shown;
}

std::optional<double> number_of(const Table::Cell& cell) {
  if (const auto* value = std::get_if<double>(&cell)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::uint64_t>(&cell)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<Estimate>(&cell)) return value->value;
  return std::nullopt;
}

/// Texts to the left; numbers, and what is absent among them, to the right.
Align align_of(const Table& table, std::size_t column) {
  const bool is_number = std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
    return std::holds_alternative<Absent>(row[column]) || number_of(row[column]);
  });
  return is_number ? Align::right : Align::left;
}

/// What the row is about: texts as they are, numbers behind their titles.
std::string label_of(const Table& table, const std::vector<Table::Cell>& row) {
  std::string label;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Table::Column& column = table.columns[i];
    if (column.role != Table::Role::label || column.detail == Detail::data) continue;
    label += label.empty() ? "" : ", ";
    label += (number_of(row[i]) ? heading_of(column) + " " : "") + cell_text(row[i], column);
  }
  return label;
}

/// Each reason of a row once: a state's, and those of what is absent.
std::vector<std::string> reasons_of(const std::vector<Table::Cell>& row) {
  std::vector<std::string> reasons;
  std::vector<std::string> said;
  for (const Table::Cell& cell : row) {
    const auto* status = std::get_if<RowStatus>(&cell);
    if (status == nullptr || status->status == Status::ok) continue;
    reasons.push_back(name(status->status) + (status->reason.empty() ? "" : ": " + status->reason));
    said.push_back(status->reason);
  }
  for (const Table::Cell& cell : row) {
    const auto* absent = std::get_if<Absent>(&cell);
    if (absent == nullptr || absent->reason.empty()) continue;
    if (std::find(said.begin(), said.end(), absent->reason) != said.end()) continue;
    reasons.push_back(absent->reason);
    said.push_back(absent->reason);
  }
  return reasons;
}

/// Why a row lacks what it lacks.
struct RowReason {
  std::string row;          ///< Its label; empty where it has none.
  std::string first_label;  ///< What that begins with.
  std::string text;
};

std::string reason_line(const RowReason& reason) {
  return reason.row.empty() ? reason.text : reason.row + ": " + reason.text;
}

/// Rows that lack it for one reason share a line: "tf32 (4 rows): exists on CUDA devices only".
std::vector<std::string> gathered_reasons(const std::vector<RowReason>& all) {
  constexpr std::size_t most_labels = 3;
  std::vector<std::string> lines;
  std::set<std::string> said;
  for (const RowReason& reason : all) {
    if (!said.insert(reason.text).second) continue;
    std::vector<std::string> labels;
    std::size_t rows = 0;
    for (const RowReason& other : all) {
      if (other.text != reason.text) continue;
      ++rows;
      if (std::find(labels.begin(), labels.end(), other.first_label) == labels.end())
        labels.push_back(other.first_label);
    }
    const std::string named = labels.size() > most_labels ? "" : joined(labels);
    const std::string of_all = named.empty() ? counted(rows, "row") : fmt::format("{} ({} rows)", named, rows);
    lines.push_back(rows == 1 ? reason_line(reason) : of_all + ": " + reason.text);
  }
  return lines;
}

/// The gist has room for a few.
void keep_first_reasons(std::vector<std::string>& reasons) {
  constexpr std::size_t most = 4;
  if (reasons.size() <= most + 1) return;
  const std::size_t left_out = reasons.size() - most;
  reasons.resize(most);
  reasons.push_back(fmt::format("... and {} more (--details)", left_out));
}

/// Curves of one column are drawn to one scale: from the lowest value of all to the highest of the first row, so that
/// one that diverges leaves the others readable.
std::string text_at(const Table& table, const std::vector<Table::Cell>& row, std::size_t column) {
  const auto* curve = std::get_if<std::vector<double>>(&row[column]);
  if (curve == nullptr) return cell_text(row[column], table.columns[column]);
  std::optional<CurveRange> range;
  for (const auto& other : table.rows) {
    const auto* values = std::get_if<std::vector<double>>(&other[column]);
    if (values == nullptr) continue;
    const CurveRange own = range_of(*values);
    range = range ? CurveRange{std::min(range->low, own.low), range->high} : own;
  }
  return curve_text(*curve, *range);
}

}  // namespace

bool shows(Detail detail, Detail needed) {
  return needed <= detail && needed != Detail::data;
}

ShownTable shown_table(const Table& table, Detail detail) {
  ShownTable text;
  std::vector<RowReason> reasons;
  const std::vector<std::size_t> shown = shown_columns(table, detail);
  for (const std::size_t i : shown) {
    const Table::Column& column = table.columns[i];
    text.columns.push_back({heading_of(column), column.meaning, align_of(table, i), column.role});
  }
  for (const auto& row : table.rows) {
    auto& cells = text.rows.emplace_back();
    for (const std::size_t i : shown) cells.push_back({text_at(table, row, i), number_of(row[i])});
    const std::string label = label_of(table, row);
    for (const std::string& reason : reasons_of(row))
      reasons.push_back({label, label.substr(0, label.find(", ")), reason});
  }
  if (detail == Detail::brief) {
    text.reasons = gathered_reasons(reasons);
    keep_first_reasons(text.reasons);
  } else {
    for (const RowReason& reason : reasons) text.reasons.push_back(reason_line(reason));
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> shown_facts(const Table& facts, Detail detail) {
  std::vector<std::pair<std::string, std::string>> texts;
  if (facts.rows.empty()) return texts;
  for (const std::size_t i : shown_columns(facts, detail)) {
    const Table::Cell& cell = facts.rows.front()[i];
    const auto* absent = std::get_if<Absent>(&cell);
    const std::string reason = absent == nullptr || absent->reason.empty() ? "" : " (" + absent->reason + ")";
    texts.emplace_back(heading_of(facts.columns[i]), cell_text(cell, facts.columns[i]) + reason);
  }
  return texts;
}

}  // namespace assay
