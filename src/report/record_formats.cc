#include "report/record_formats.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <variant>

#include "base/json.h"
#include "results/fields.h"

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

/// The type of a field by its kind, so that tables of two runs are one table.
struct SqlType {
  const char* operator()(const std::int64_t* /*value*/) const { return "BIGINT"; }
  const char* operator()(const std::optional<std::int64_t>* /*value*/) const { return "BIGINT"; }
  const char* operator()(const std::optional<bool>* /*value*/) const { return "BIGINT"; }
  const char* operator()(const std::optional<double>* /*value*/) const { return "DOUBLE PRECISION"; }
  const char* operator()(const void* /*value*/) const { return "TEXT"; }
};

std::string sql_table(const std::vector<JsonMember>& before) {
  std::map<std::string_view, const char*> types;
  for (const auto& [name, value] : before) types[name] = value.is_number_integer() ? "BIGINT" : "TEXT";
  for (const Field& field : record_fields()) types[field.name] = std::visit(SqlType(), field.value(Record()));
  std::string columns;
  for (const std::string& name : csv_names(before)) {
    const auto type = types.find(name);
    columns += fmt::format("{}\n  {} {}", columns.empty() ? "" : ",", sql_quoted(name, '"'),
                           type == types.end() ? "TEXT" : type->second);
  }
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
  std::string text = sql_table(records.empty() ? std::vector<JsonMember>() : records.front().before);
  for (const CsvRecord& record : records) {
    std::string names;
    std::string values;
    for (const auto& [name, value] : flat_members(record)) {
      names += (names.empty() ? "" : ", ") + sql_quoted(name, '"');
      values += (values.empty() ? "" : ", ") + sql_value(value);
    }
    text += "INSERT INTO assay_records (" + names + ")\nVALUES (" + values + ");\n";
  }
  return text;
}

}  // namespace assay
