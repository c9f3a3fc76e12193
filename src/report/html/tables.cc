#include "report/html/tables.h"

#include <fmt/format.h>

#include <vector>

#include "base/markup.h"
#include "base/units.h"
#include "report/records/described.h"
#include "report/records/results_table.h"
#include "results/identity.h"

namespace assay {
namespace {

std::string cell_html(const ShownTable::Cell& cell, Align align, bool is_header) {
  const std::string sorting = cell.number ? fmt::format(" data-v=\"{}\"", *cell.number) : "";
  if (is_header) return fmt::format("<th scope=\"row\"{}>{}</th>", sorting, markup_text(cell.text));
  const char* alignment = align == Align::left ? " class=\"text\"" : "";
  return fmt::format("<td{}{}>{}</td>", sorting, alignment, markup_text(cell.text));
}

std::string row_html(const std::vector<ShownTable::Cell>& row, const std::vector<ShownTable::Column>& columns) {
  std::string text = "<tr>";
  for (std::size_t i = 0; i < row.size(); ++i) text += cell_html(row[i], columns[i].align, i == 0);
  return text + "</tr>\n";
}

std::string none(const std::string& text) {
  return "<p class=\"none\">" + markup_text(text) + "</p>\n";
}

std::string json_text(const OrderedJson& value) {
  if (value.is_null()) return "-";
  if (value.is_number_float()) return format_significant(value.get<double>(), 4);
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

/// An array of objects as a table, their keys as columns.
ShownTable facts_table(const OrderedJson& list) {
  ShownTable table;
  for (const auto& [key, value] : list.front().items()) {
    const Align align = value.is_number() ? Align::right : Align::left;
    if (!value.is_array()) table.columns.push_back({.title = key, .align = align});
  }
  for (const OrderedJson& entry : list) {
    auto& row = table.rows.emplace_back();
    for (const ShownTable::Column& column : table.columns) {
      const OrderedJson value = entry.is_object() && entry.contains(column.title) ? entry[column.title] : OrderedJson();
      row.push_back({json_text(value), value.is_number() ? std::optional(value.get<double>()) : std::nullopt});
    }
  }
  return table;
}

std::string machine_html(const ReportSource& source, std::size_t number) {
  std::string list = fmt::format("<h3>{}</h3><dl class=\"facts\">", markup_text(source.label));
  std::string tables;
  for (const auto& [key, value] : source.document.machine.items()) {
    const bool is_table = value.is_array() && !value.empty() && value.front().is_object();
    if (is_table) {
      tables += table_html(fmt::format("machine-{}-{}", number, markup_text(key)), key, facts_table(value));
    } else {
      list += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", markup_text(key), markup_text(json_text(value)));
    }
  }
  return list + "</dl>\n" + tables;
}

}  // namespace

std::string table_html(const std::string& id, const std::string& caption, const ShownTable& table) {
  std::string text = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table class=\"sortable\" id=\"{1}\">"
      "<caption>{0}</caption><thead><tr>",
      markup_text(caption), id);
  for (const ShownTable::Column& column : table.columns) {
    const std::string meaning = column.meaning.empty() ? "" : fmt::format(" title=\"{}\"", markup_text(column.meaning));
    text += fmt::format("<th scope=\"col\"{}{}>{}</th>", column.align == Align::left ? " class=\"text\"" : "", meaning,
                        markup_text(column.title));
  }
  text += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) text += row_html(row, table.columns);
  return text + "</tbody></table></div>\n";
}

std::string table_html(const Table& table, const std::string& nothing) {
  if (table.rows.empty()) return none(nothing);
  return table_html(table.key, table.caption, shown_table(table, Detail::details));
}

std::string results_html(std::span<const ReportSubject> subjects) {
  std::vector<ShownRecord> rows;
  for (const ReportSubject& subject : subjects) {
    for (const Record* record : subject.records) {
      if (record->outcome.status == Status::ok) rows.push_back({record, subject.name});
    }
  }
  return table_html(results_table(rows, "Results: a row for each precision that was measured"), "nothing was measured");
}

std::string findings_html(std::span<const ReportSource> sources) {
  std::string items;
  for (const ReportSource& source : sources) {
    for (const Finding& finding : source.document.findings) {
      if (finding.kind == RuleKind::expectation) continue;
      const std::string from = sources.size() > 1 ? source.label + ": " : "";
      const std::string weight = finding.severity >= Severity::medium ? name(finding.severity) + std::string(": ") : "";
      items += "<li>" + markup_text(from + weight + finding.text) + "</li>";
    }
  }
  const std::string found = items.empty() ? "<p>No rule found anything.</p>\n" : "<ul>" + items + "</ul>\n";
  const Table expected = expectations_table(sources);
  return expected.rows.empty() ? found : found + table_html(expected, "");
}

std::string ledger_html(std::span<const ReportSubject> subjects) {
  std::string text;
  std::size_t number = 0;
  for (const ReportSubject& subject : subjects) {
    for (const Record* record : subject.records) {
      if (record->evidence.ledger.empty()) continue;
      Table table = ledger_table(*record, fmt::format("{}, {}: operations that ran alike share a row",
                                                      row_name(record->setting), subject.name));
      table.key = fmt::format("ledger-{}", ++number);
      text +=
          fmt::format("<details><summary>{}, {}: {}</summary>{}</details>\n", markup_text(row_name(record->setting)),
                      markup_text(subject.name), markup_text(what_ran(*record)), table_html(table, ""));
    }
  }
  return text.empty() ? none("no record holds a ledger") : text;
}

std::string machines_html(std::span<const ReportSource> sources) {
  std::string text;
  for (const ReportSource& source : sources)
    text += machine_html(source, static_cast<std::size_t>(&source - sources.data()) + 1);
  return text;
}

std::string fields_html(std::span<const ReportSubject> subjects, std::size_t most_records) {
  std::size_t count = 0;
  for (const ReportSubject& subject : subjects) count += subject.records.size();
  if (count > most_records)
    return none(fmt::format("{} records are too many for one table; the CSV file has every field.", count));
  return table_html(fields_table(subjects), "no record");
}

}  // namespace assay
