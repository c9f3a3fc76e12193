#include "report/record_formats.h"

#include <fmt/format.h>

#include "base/json.h"

namespace assay {
namespace {

constexpr RecordFormat record_format_rows[] = {
    {"--jsonl", "write the records, an object a line", json_lines_of},
    {"--sql", "write the records as SQL: a table and its rows", sql_of},
    {"--otlp", "write the figures as OpenTelemetry metrics (OTLP/JSON)", otlp_of},
    {"--prometheus", "write the figures for Prometheus' textfile collector", prometheus_of},
    {"--mlflow", "write the records as runs of MLflow, an object a line", mlflow_of},
};

std::string compact(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string sql_quoted(const std::string& text, char quote) {
  std::string quoted(1, quote);
  for (const char c : text) {
    if (c == '\0') continue;  // Neither database holds one in a text.
    quoted += c;
    if (c == quote) quoted += c;
  }
  return quoted + quote;
}

std::string sql_value(const OrderedJson& value) {
  if (value.is_null()) return "NULL";
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (value.is_number()) return compact(value);
  return sql_quoted(value.is_string() ? value.get<std::string>() : compact(value), '\'');
}

/// The type that holds all of a column's values; TEXT where there are none.
const char* sql_type(std::span<const std::vector<JsonMember>> rows, std::size_t column) {
  bool holds_numbers = false;
  bool holds_fractions = false;
  for (const std::vector<JsonMember>& row : rows) {
    const OrderedJson& value = row[column].second;
    if (value.is_null()) continue;
    if (!value.is_number() && !value.is_boolean()) return "TEXT";
    holds_numbers = true;
    holds_fractions = holds_fractions || value.is_number_float();
  }
  return !holds_numbers ? "TEXT" : holds_fractions ? "DOUBLE PRECISION" : "BIGINT";
}

std::string sql_table(const std::vector<std::string>& names, std::span<const std::vector<JsonMember>> rows) {
  std::string columns;
  for (std::size_t i = 0; i < names.size(); ++i)
    columns += fmt::format("{}\n  {} {}", i == 0 ? "" : ",", sql_quoted(names[i], '"'), sql_type(rows, i));
  return "CREATE TABLE IF NOT EXISTS assay_records (" + columns + "\n);\n";
}

}  // namespace

std::span<const RecordFormat> record_formats() {
  return record_format_rows;
}

std::string json_lines_of(std::span<const CsvRecord> records) {
  std::string text;
  for (const CsvRecord& row : records) text += compact(object_of(flat_members(row))) + "\n";
  return text;
}

std::string sql_of(std::span<const CsvRecord> records) {
  std::vector<std::vector<JsonMember>> rows;
  rows.reserve(records.size());
  for (const CsvRecord& record : records) rows.push_back(flat_members(record));
  std::string text = sql_table(csv_names(records.empty() ? std::vector<JsonMember>() : records.front().before), rows);
  for (const std::vector<JsonMember>& row : rows) {
    std::string names;
    std::string values;
    for (const auto& [name, value] : row) {
      names += (names.empty() ? "" : ", ") + sql_quoted(name, '"');
      values += (values.empty() ? "" : ", ") + sql_value(value);
    }
    text += "INSERT INTO assay_records (" + names + ")\nVALUES (" + values + ");\n";
  }
  return text;
}

}  // namespace assay
