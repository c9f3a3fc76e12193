#include "report/formats.h"

#include <fmt/format.h>

#include "base/json.h"
#include "report/columns.h"
#include "report/ledger_brief.h"
#include "report/text.h"
#include "results/fields.h"

namespace assay {
namespace {

/// Above rows of one mode.
std::string title_rows(const Records& rows) {
  std::string titles = "|";
  std::string rule = "|";
  for (const Column& column : table_columns()) {
    titles += fmt::format(" {} |", one_line_title(column, rows));
    rule += column.align == Align::left ? " :-- |" : " --: |";
  }
  return titles + "\n" + rule + "\n";
}

std::string table_row(const Record& record) {
  if (record.outcome.status != Status::ok) {
    return fmt::format("| {} | {}: {} |{}\n", markdown_cell(shown_precision(record)), name(record.outcome.status),
                       markdown_cell(record.outcome.reason.value_or("no reason was given")),
                       std::string(table_columns().size() - 2, '|'));
  }
  std::string row = "|";
  for (const Column& column : table_columns()) row += fmt::format(" {} |", markdown_cell(column.cell(record)));
  return row + "\n";
}

std::string tables(std::span<const Record> records) {
  std::string text;
  const Record* above = nullptr;
  for (const Record& record : records) {
    const Together relation_above = above ? relation(*above, record) : Together::apart;
    if (relation_above == Together::apart) text += fmt::format("\n## {}\n", model_title(record));
    if (relation_above != Together::same_cell)
      text += fmt::format("\n{}\n\n{}", cell_title(record), title_rows(under_one_title(records, record)));
    text += table_row(record);
    above = &record;
  }
  return text;
}

std::string sentences(std::span<const Finding> findings, RuleKind kind, const char* title) {
  std::string text;
  for (const Finding& finding : findings) {
    if (finding.kind == kind) text += fmt::format("- {}\n", finding.text);
  }
  return text.empty() ? text : fmt::format("\n## {}\n\n{}", title, text);
}

std::string ledgers(std::span<const Record> records) {
  std::string text;
  for (const Record& record : records) {
    for (const std::string& line : ledger_brief(record)) {
      text += fmt::format("- {}, {}: {}\n", record.setting.precision, cell_title(record), line);
    }
  }
  return text.empty() ? text : "\n## What ran\n\n" + text;
}

std::string field_table(std::span<const Record> records) {
  std::string text = "\n## Every field\n\n| field | unit |";
  for (const Record& record : records) text += fmt::format(" {} |", markdown_cell(shown_precision(record)));
  text += " meaning |\n| :-- | :-- |";
  for (std::size_t i = 0; i < records.size(); ++i) text += " --: |";
  text += " :-- |\n";
  for (const Field& field : record_fields()) {
    if (!is_short(field)) continue;
    text += fmt::format("| {} | {} |", field.name, field.unit);
    for (const Record& record : records) text += fmt::format(" {} |", markdown_cell(to_text(field, record)));
    text += fmt::format(" {} |\n", markdown_cell(field.meaning));
  }
  return text;
}

}  // namespace

std::string json_report(const Document& document) {
  // Names of files and models may hold bytes that are not UTF-8; they are replaced, not fatal.
  return to_json(document).dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string csv_report(std::span<const Record> records) {
  std::string text;
  for (const Field& field : record_fields()) text += (text.empty() ? "" : ",") + std::string(field.name);
  text += "\r\n";
  for (const Record& record : records) {
    std::string line;
    for (const Field& field : record_fields()) {
      if (&field != record_fields().data()) line += ',';
      line += csv_field(to_text(field, record));
    }
    text += line + "\r\n";
  }
  return text;
}

std::string markdown_report(const Document& document) {
  return "# Records of assay\n" + tables(document.records) +
         sentences(document.findings, RuleKind::finding, "Findings") +
         sentences(document.findings, RuleKind::expectation, "Expectations") + ledgers(document.records) +
         field_table(document.records);
}

}  // namespace assay
