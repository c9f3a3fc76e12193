#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "report/record_formats.h"
#include "results/fields.h"
#include "results/identity.h"

namespace assay {
namespace {

/// How others write a unit of the field list.
struct MetricUnit {
  std::string_view unit;
  std::string_view ending;      ///< By which a field's name says it.
  std::string_view ucum;        ///< The Unified Code for Units of Measure, which OpenTelemetry uses.
  std::string_view prometheus;  ///< The base unit, which ends a name there.
  double to_base = 1;
  std::string_view alone = {};  ///< What OpenTelemetry calls a figure whose name is its unit and nothing else.
};

constexpr MetricUnit metric_units[] = {
    {"ms", "_ms", "ms", "seconds", 1e-3},
    {"s", "_s", "s", "seconds"},
    {"B", "_bytes", "By", "bytes"},
    {"B/s", "_bytes_per_s", "By/s", "bytes_per_second", 1, "byte_rate"},
    {"J", "_j", "J", "joules"},
    {"J s", "_js", "J.s", "joule_seconds"},
    {"W", "_w", "W", "watts"},
    {"GFLOP/s", "_gflops", "G{FLOP}/s", "flop_per_second", 1e9, "flop_rate"},
    {"MHz", "_mhz", "MHz", "hertz", 1e6},
    {"degC", "_c", "Cel", "celsius"},
    {"g", "_g", "g", "grams"},
    {"nat", "_nat", "{nat}", "nats"},
    {"1/s", "_per_s", "1/s", "per_second"},
    {"share", "_share", "1", "ratio"},
    {"x", "_x", "1", "ratio"},
};
constexpr MetricUnit no_unit = {"", "", "1", ""};

/// Counts of things are written as what they count.
MetricUnit unit_of(const Field& field) {
  const auto* found = std::find_if(std::begin(metric_units), std::end(metric_units),
                                   [&](const MetricUnit& one) { return one.unit == field.unit; });
  return found == std::end(metric_units) ? no_unit : *found;
}

std::string ucum_of(const Field& field) {
  const MetricUnit unit = unit_of(field);
  return unit.unit == field.unit ? std::string(unit.ucum) : fmt::format("{{{}}}", field.unit);
}

/// Its name without the unit; empty of one that is its unit alone, as "gflops".
std::string_view figure_of(const Field& field) {
  const std::string_view name = field.name;
  const std::string_view ending = unit_of(field).ending;
  if (ending.empty()) return name;
  if (name == ending.substr(1)) return {};
  return name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name;
}

std::string otel_name(const Field& field) {
  const std::string_view figure = figure_of(field);
  return fmt::format("assay.{}.{}", field.part, figure.empty() ? unit_of(field).alone : figure);
}

std::string prometheus_name(const Field& field) {
  std::string name = fmt::format("assay_{}", field.part);
  for (const std::string_view word : {figure_of(field), unit_of(field).prometheus}) {
    if (!word.empty()) name += fmt::format("_{}", word);
  }
  return name;
}

const SettingField* setting_of(std::string_view name) {
  const auto all = setting_fields();
  const auto found = std::find_if(all.begin(), all.end(), [&](const SettingField& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string label_text(const OrderedJson& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

/// A record as metrics have it.
struct MetricRecord {
  std::vector<JsonMember> labels = {};                       ///< Texts and whole numbers.
  std::vector<std::pair<const Field*, double>> values = {};  ///< In the order of the field list.
  std::optional<std::chrono::sys_time<std::chrono::milliseconds>> at = {};
};

/// "2026-11-21T21:22:14.733Z", the fraction or the time absent.
std::optional<std::chrono::sys_time<std::chrono::milliseconds>> instant_of(const std::string& text) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  double second = 0;
  const int read = std::sscanf(text.c_str(), "%d-%u-%uT%d:%d:%lf", &year, &month, &day, &hour, &minute, &second);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (read < 3 || !date.ok()) return std::nullopt;
  const auto milliseconds = std::chrono::milliseconds(std::llround(second * 1000));
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) + milliseconds;
}

/// When it was kept, else when its run began.
std::string time_of(const CsvRecord& row) {
  for (const auto& [key, value] : row.before) {
    if (key == "saved" && value.is_string()) return value.get<std::string>();
  }
  return row.origin ? row.origin->date : "";
}

bool is_label(const Field& field) {
  const SettingField* const setting = setting_of(field.name);
  return setting != nullptr && setting->aspect != Aspect::remark;
}

MetricRecord metric_record(const CsvRecord& row) {
  MetricRecord made{.at = instant_of(time_of(row))};
  const OrderedJson json = to_json(row.record);
  for (const Field& field : record_fields()) {
    const OrderedJson& value = json[field.name];
    if (value.is_null()) continue;
    if (is_label(field) || std::string_view(field.name) == "status") {
      made.labels.emplace_back(field.name, value);
    } else if (setting_of(field.name) == nullptr && value.is_number()) {
      made.values.emplace_back(&field, value.get<double>());
    }
  }
  return made;
}

/// Whether the measurement is this record's own: not of a shard's baseline that another shard has.
bool has_metrics(const CsvRecord& row) {
  return !row.record.share->compared_only.value_or(false);
}

std::vector<MetricRecord> metric_records(std::span<const CsvRecord> records) {
  std::vector<MetricRecord> made;
  made.reserve(records.size());
  for (const CsvRecord& row : records) {
    if (has_metrics(row)) made.push_back(metric_record(row));
  }
  return made;
}

// ---- OpenTelemetry ----

OrderedJson otel_attribute(const std::string& key, const OrderedJson& value) {
  if (value.is_number_integer()) return {{"key", key}, {"value", {{"intValue", value.dump()}}}};
  return {{"key", key}, {"value", {{"stringValue", label_text(value)}}}};
}

OrderedJson otel_point(const MetricRecord& record, double value) {
  OrderedJson attributes = OrderedJson::array();
  for (const auto& [key, label] : record.labels) attributes.push_back(otel_attribute("assay." + key, label));
  OrderedJson point = {{"attributes", std::move(attributes)}};
  if (record.at) {
    const auto nanoseconds = std::chrono::nanoseconds(record.at->time_since_epoch()).count();
    point["timeUnixNano"] = std::to_string(nanoseconds);
  }
  point["asDouble"] = value;
  return point;
}

// ---- Prometheus ----

/// In HELP a backslash and a line's end, in a label the quote too.
std::string prometheus_text(std::string_view text, bool is_label_value) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\')
      escaped += "\\\\";
    else if (c == '\n')
      escaped += "\\n";
    else if (c == '"' && is_label_value)
      escaped += "\\\"";
    else
      escaped += c;
  }
  return escaped;
}

std::string prometheus_labels(const MetricRecord& record) {
  std::string labels;
  for (const auto& [key, value] : record.labels)
    labels += fmt::format("{}{}=\"{}\"", labels.empty() ? "" : ",", key, prometheus_text(label_text(value), true));
  return labels;
}

// ---- MLflow ----

OrderedJson mlflow_pair(const std::string& key, const std::string& value) {
  return {{"key", key}, {"value", value}};
}

OrderedJson mlflow_run(const CsvRecord& row, const MetricRecord& record) {
  const std::int64_t at = record.at ? record.at->time_since_epoch().count() : 0;
  OrderedJson params = OrderedJson::array();
  for (const auto& [key, value] : record.labels) params.push_back(mlflow_pair(key, label_text(value)));
  OrderedJson metrics = OrderedJson::array();
  for (const auto& [field, value] : record.values)
    metrics.push_back(
        {{"key", fmt::format("{}.{}", field->part, field->name)}, {"value", value}, {"timestamp", at}, {"step", 0}});
  const RunOrigin origin = row.origin.value_or(RunOrigin{});
  OrderedJson tags = OrderedJson::array();
  for (const auto& [key, member] : origin_texts)
    tags.push_back(mlflow_pair(std::string("assay.") + key, origin.*member));
  return {{"run_name", subject_words(row.record)},
          {"start_time", at},
          {"params", std::move(params)},
          {"metrics", std::move(metrics)},
          {"tags", std::move(tags)}};
}

}  // namespace

std::string otlp_of(std::span<const CsvRecord> records) {
  std::map<const Field*, OrderedJson> points;  // Fields lie in one array: the order of the list.
  for (const MetricRecord& record : metric_records(records)) {
    for (const auto& [field, value] : record.values) points[field].push_back(otel_point(record, value));
  }
  OrderedJson metrics = OrderedJson::array();
  for (auto& [field, data] : points) {
    metrics.push_back({{"name", otel_name(*field)},
                       {"description", field->meaning},
                       {"unit", ucum_of(*field)},
                       {"gauge", {{"dataPoints", std::move(data)}}}});
  }
  OrderedJson resource = {{"attributes", OrderedJson::array({otel_attribute("service.name", "assay")})}};
  OrderedJson scope = {{"scope", {{"name", "assay"}}}, {"metrics", std::move(metrics)}};
  const OrderedJson request = {
      {"resourceMetrics", OrderedJson::array({{{"resource", std::move(resource)},
                                               {"scopeMetrics", OrderedJson::array({std::move(scope)})}}})}};
  return request.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string prometheus_of(std::span<const CsvRecord> records) {
  std::vector<MetricRecord> made = metric_records(records);
  std::ranges::stable_sort(made, {}, &MetricRecord::at);
  std::map<const Field*, std::map<std::string, double>> series;
  for (const MetricRecord& record : made) {
    const std::string labels = prometheus_labels(record);
    for (const auto& [field, value] : record.values) series[field][labels] = value * unit_of(*field).to_base;
  }
  std::string text;
  for (const auto& [field, samples] : series) {
    const std::string name = prometheus_name(*field);
    text += fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, prometheus_text(field->meaning, false), name);
    for (const auto& [labels, value] : samples) text += fmt::format("{}{{{}}} {}\n", name, labels, value);
  }
  return text;
}

std::string mlflow_of(std::span<const CsvRecord> records) {
  std::string text;
  for (const CsvRecord& row : records) {
    if (has_metrics(row))
      text += mlflow_run(row, metric_record(row)).dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  }
  return text;
}

}  // namespace assay
