#include "report/html/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/markup.h"
#include "base/units.h"
#include "report/columns.h"
#include "results/fields.h"

namespace assay {
namespace {

std::string cell_html(const PageCell& cell, bool is_header) {
  const std::string sorting = cell.value.empty() ? "" : fmt::format(" data-v=\"{}\"", markup_text(cell.value));
  if (is_header) return fmt::format("<th scope=\"row\"{}>{}</th>", sorting, markup_text(cell.text));
  return fmt::format("<td{}{}>{}</td>", sorting, cell.is_number ? "" : " class=\"text\"", markup_text(cell.text));
}

std::string row_html(const std::vector<PageCell>& row) {
  std::string text = "<tr>";
  for (const PageCell& cell : row) text += cell_html(cell, &cell == row.data());
  return text + "</tr>\n";
}

/// "1,234 ±2 %" reads as 1234; nothing where the text does not begin with a number.
std::optional<double> leading_number(const std::string& text) {
  std::string digits;
  for (const char c : text) {
    if (c != ',') digits += c;
  }
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  if (end == digits.c_str()) return std::nullopt;
  return *end == 'k' ? value * 1e3 : *end == 'M' ? value * 1e6 : value;
}

PageCell numeric(const std::string& text) {
  const auto number = leading_number(text);
  return {text, number ? fmt::format("{}", *number) : "", true};
}

std::vector<PageCell> result_row(const ReportSubject& subject, const Record& record) {
  std::vector<PageCell> row;
  for (const Column& column : table_columns()) {
    const std::string text = column.cell(record);
    row.push_back(column.align == Align::right || leading_number(text) ? numeric(text) : PageCell{text});
  }
  row.insert(row.begin() + 1, PageCell{subject.name});
  return row;
}

/// Calls `visit(subject, record)` for every record in the order of the subjects.
template <typename Visit>
void for_each_record(std::span<const ReportSubject> subjects, Visit&& visit) {
  for (const ReportSubject& subject : subjects) {
    for (const Record* record : subject.records) visit(subject, *record);
  }
}

std::string met_word(const std::optional<bool>& met) {
  return met ? (*met ? "as expected" : "not as expected") : "";
}

std::string items(const std::vector<std::string>& texts) {
  std::string list = "<ul>";
  for (const std::string& text : texts) list += "<li>" + markup_text(text) + "</li>";
  return list + "</ul>\n";
}

/// Whether a column's cells are set to the left.
bool is_textual(const PageTable& table, std::size_t column) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [&](const auto& row) { return column < row.size() && !row[column].is_number; });
}

}  // namespace

std::string table_html(const PageTable& table) {
  std::string text = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table class=\"sortable\" id=\"{1}\">"
      "<caption>{0}</caption><thead><tr>",
      markup_text(table.caption), table.id);
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const bool has_meaning = i < table.meanings.size() && !table.meanings[i].empty();
    text += fmt::format("<th scope=\"col\"{}{}>{}</th>", is_textual(table, i) ? " class=\"text\"" : "",
                        has_meaning ? fmt::format(" title=\"{}\"", markup_text(table.meanings[i])) : "",
                        markup_text(table.columns[i]));
  }
  text += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) text += row_html(row);
  return text + "</tbody></table></div>\n";
}

PageTable page_table(const ReportTable& table, const std::string& id) {
  PageTable page{id, table.caption, table.columns, {}};
  for (const auto& row : table.rows) {
    auto& cells = page.rows.emplace_back();
    for (const std::string& text : row) cells.push_back(leading_number(text) ? numeric(text) : PageCell{text});
  }
  return page;
}

std::string results_html(std::span<const ReportSubject> subjects) {
  PageTable table{"results", "Results: a row for each precision that was measured", {}, {}};
  Records shown;
  for_each_record(subjects, [&](const ReportSubject& subject, const Record& record) {
    if (record.outcome.status != Status::ok) return;
    table.rows.push_back(result_row(subject, record));
    shown.push_back(&record);
  });
  if (table.rows.empty()) return "<p class=\"none\">nothing was measured</p>\n";
  for (const Column& column : table_columns()) table.columns.push_back(one_line_title(column, shown));
  table.columns.insert(table.columns.begin() + 1, "of");
  return table_html(table);
}

std::string left_out_html(std::span<const ReportSubject> subjects) {
  PageTable table{"left-out", "Rows without figures, and why", {"precision", "of", "status", "reason"}, {}};
  for_each_record(subjects, [&](const ReportSubject& subject, const Record& record) {
    if (record.outcome.status == Status::ok) return;
    table.rows.push_back({{record.setting.precision},
                          {subject.name},
                          {name(record.outcome.status)},
                          {record.outcome.reason.value_or("no reason was given")}});
  });
  return table.rows.empty() ? "<p>Every row was measured.</p>\n" : table_html(table);
}

std::string trust_html(std::span<const ReportSubject> subjects) {
  PageTable table{"trust", "How far each row can be trusted, and why", {"precision", "of", "grade", "reasons"}, {}};
  for_each_record(subjects, [&](const ReportSubject& subject, const Record& record) {
    if (!record.grade.trust) return;
    std::string reasons;
    for (const std::string& reason : record.grade.trust_reasons) reasons += (reasons.empty() ? "" : "; ") + reason;
    table.rows.push_back({{record.setting.precision}, {subject.name}, {*record.grade.trust}, {reasons}});
  });
  return table.rows.empty() ? "<p class=\"none\">no row is graded</p>\n" : table_html(table);
}

std::string findings_html(std::span<const ReportSource> sources) {
  std::vector<std::string> found;
  PageTable expected{"expectations", "Expectations", {"rule", "of", "came", "observed"}, {}};
  for (const ReportSource& source : sources) {
    for (const Finding& finding : source.document.findings) {
      const std::string of =
          fmt::format("{}{}{}", finding.model, finding.precision.empty() ? "" : ", ", finding.precision);
      if (finding.kind == RuleKind::expectation) {
        expected.rows.push_back({{finding.rule}, {of}, {met_word(finding.met)}, {finding.text}});
      } else {
        const std::string from = sources.size() > 1 ? source.label + ": " : "";
        const std::string weight =
            finding.severity >= Severity::medium ? name(finding.severity) + std::string(": ") : "";
        found.push_back(from + weight + finding.text);
      }
    }
  }
  std::string text = found.empty() ? "<p>No rule found anything.</p>\n" : items(found);
  if (!expected.rows.empty()) text += table_html(expected);
  return text;
}

std::string fields_html(std::span<const ReportSubject> subjects, std::size_t most_records) {
  std::size_t count = 0;
  for (const ReportSubject& subject : subjects) count += subject.records.size();
  if (count > most_records) {
    return fmt::format("<p>{} records are too many for one table; the CSV file has every field.</p>\n", count);
  }
  PageTable table{"fields", "Every field that has a short value", {"field", "unit"}, {}};
  for_each_record(subjects, [&](const ReportSubject& subject, const Record& record) {
    table.columns.push_back(subjects.size() > 1 ? fmt::format("{}, {}", record.setting.precision, subject.name)
                                                : record.setting.precision);
  });
  table.columns.emplace_back("meaning");
  for (const Field& field : record_fields()) {
    if (!is_short(field)) continue;
    std::vector<PageCell> row = {{field.name}, {field.unit}};
    for_each_record(subjects, [&](const ReportSubject&, const Record& record) {
      const std::string text = to_text(field, record);
      row.push_back(leading_number(text) ? numeric(text) : PageCell{text});
    });
    row.push_back({field.meaning});
    table.rows.push_back(std::move(row));
  }
  return table_html(table);
}

}  // namespace assay
