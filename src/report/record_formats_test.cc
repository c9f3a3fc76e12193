#include "report/record_formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <variant>

#include "base/json.h"
#include "base/testing.h"
#include "results/fields.h"
#include "results/made_up_test.h"
#include "results/sqlite.h"

namespace assay {
namespace {

/// Two rows and one that was left out, with words that need escaping.
struct Rows {
  std::vector<Record> records = made_up_cell();
  std::vector<CsvRecord> rows = {};
  RunOrigin origin = {.date = "2026-01-02T03:04:05.678Z", .command = "assay bench 'two words'", .commit = "abc"};

  Rows() {
    records.push_back(made_up_left_out("fp8", Status::unsupported, "it's \"no\"\\here"));
    records.back().setting.model = "a \"model\"\\of 'mine'";
    for (const Record& record : records) rows.push_back({record, {}, origin});
  }
};

std::vector<OrderedJson> parsed_lines(const std::string& text) {
  std::vector<OrderedJson> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(OrderedJson::parse(line));
  return lines;
}

TEST(RecordFormats, EachIsAnOptionOfItsOwn) {
  std::set<std::string> options;
  for (const RecordFormat& format : record_formats())
    EXPECT_TRUE(options.insert(format.option).second) << format.option;
}

TEST(RecordFormats, NoRecordsAreATextToo) {
  for (const RecordFormat& format : record_formats()) EXPECT_NO_THROW(format.text({})) << format.option;
}

TEST(RecordFormats, LinesOfJsonHaveTheColumnsOfTheCsv) {
  const Rows made;
  const std::vector<OrderedJson> lines = parsed_lines(json_lines_of(made.rows));
  ASSERT_EQ(lines.size(), made.rows.size());
  const std::vector<std::string> names = csv_names({});
  for (std::size_t i = 0; i < lines.size(); ++i) {
    ASSERT_EQ(lines[i].size(), names.size());
    EXPECT_EQ(lines[i]["precision"], made.records[i].setting.precision);
    EXPECT_EQ(lines[i]["run_command"], made.origin.command);
  }
  EXPECT_EQ(lines.back()["reason"], "it's \"no\"\\here");
}

TEST(RecordFormats, StatementsMakeATableThatHoldsTheSame) {
  const Rows made;
  const TemporaryFolder folder;
  const Database database(folder.path() / "rows.db", Access::write);
  database.run(sql_of(made.rows));
  Statement rows = database.prepare("SELECT model, batch, median_ms, reason, trust_reasons FROM assay_records");
  for (const Record& record : made.records) {
    ASSERT_TRUE(rows.step());
    EXPECT_EQ(rows.text(0), record.setting.model);
    EXPECT_EQ(rows.integer(1), record.setting.batch);
    EXPECT_EQ(rows.real(2), record.latency->median_ms.value_or(0));
    EXPECT_EQ(rows.text_or_none(3), record.outcome.reason);
    EXPECT_TRUE(OrderedJson::parse(rows.text(4)).is_array());
  }
  EXPECT_FALSE(rows.step());
}

/// Of a metric the value of the record in that precision; NaN where it has none.
double otel_value(const OrderedJson& request, const std::string& metric, const std::string& precision) {
  for (const OrderedJson& one : request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]) {
    if (one["name"] != metric) continue;
    for (const OrderedJson& point : one["gauge"]["dataPoints"]) {
      for (const OrderedJson& attribute : point["attributes"]) {
        if (attribute["key"] == "assay.precision" && attribute["value"]["stringValue"] == precision)
          return point["asDouble"].get<double>();
      }
    }
  }
  return NAN;
}

TEST(RecordFormats, OpenTelemetryHasEveryFigureUnderItsPart) {
  const Rows made;
  const OrderedJson request = OrderedJson::parse(otlp_of(made.rows));
  const Record& first = made.records.front();
  EXPECT_DOUBLE_EQ(otel_value(request, "assay.latency.median", first.setting.precision), *first.latency->median_ms);
  EXPECT_TRUE(std::isnan(otel_value(request, "assay.latency.median", "fp8"))) << "nothing was measured";
  std::set<std::string> names;
  for (const OrderedJson& metric : request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]) {
    EXPECT_TRUE(names.insert(metric["name"].get<std::string>()).second) << metric["name"];
    EXPECT_NE(metric["unit"], "");
    EXPECT_NE(metric["description"], "");
    EXPECT_EQ(metric["gauge"]["dataPoints"][0]["timeUnixNano"], "1767323045678000000");
  }
}

TEST(RecordFormats, PrometheusHasBaseUnitsAndEachSeriesOnce) {
  const Rows made;
  std::vector<CsvRecord> rows = made.rows;
  Record again = made.records.front();
  again.latency.made().median_ms = 7.5;
  rows.push_back({again, {}, made.origin});
  std::istringstream text(prometheus_of(rows));
  std::set<std::string> series;
  std::set<std::string> described;
  std::string value_of_first;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("# HELP ")) {
      EXPECT_TRUE(described.insert(line.substr(7, line.find(' ', 7) - 7)).second) << line;
    }
    if (line.starts_with('#')) continue;
    const std::size_t end = line.rfind("} ");
    ASSERT_NE(end, std::string::npos) << line;
    EXPECT_TRUE(series.insert(line.substr(0, end)).second) << line;
    EXPECT_TRUE(described.contains(line.substr(0, line.find('{')))) << line;
    if (line.starts_with("assay_latency_median_seconds{") &&
        line.find("precision=\"" + again.setting.precision + "\"") != std::string::npos)
      value_of_first = line.substr(end + 2);
  }
  EXPECT_EQ(value_of_first, "0.0075") << "the last one of a measurement, in seconds";
  EXPECT_FALSE(series.empty());
}

/// A record in which every number of the field list is given.
Record record_of_all_numbers() {
  Record record = made_up_cell()[0];
  for (const Field& field : record_fields()) {
    const FieldPlace place = field.place(record);
    if (auto* const* real = std::get_if<std::optional<double>*>(&place)) **real = 0.5;
    if (auto* const* whole = std::get_if<std::optional<std::int64_t>*>(&place)) **whole = 2;
  }
  return record;
}

/// The words of a name between its underscores.
std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts;
  std::istringstream in(name);
  for (std::string part; std::getline(in, part, '_');) parts.push_back(part);
  return parts;
}

/// Rules of `promtool check metrics` (prometheus/util/promlint).
TEST(RecordFormats, PrometheusNamesAreWhatItsOwnCheckWants) {
  const std::set<std::string> abbreviated = {"s",  "ms", "us", "ns", "sec", "b", "kb",
                                             "mb", "gb", "tb", "pb", "m",   "h", "d"};
  const std::set<std::string> of_other_types = {"total", "sum", "count", "bucket", "info"};
  const Record record = record_of_all_numbers();
  const std::vector<CsvRecord> rows = {{record, {}, std::nullopt}};
  std::istringstream text(prometheus_of(rows));
  std::size_t names = 0;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("# TYPE ")) continue;
    const std::string name = line.substr(7, line.find(' ', 7) - 7);
    const std::vector<std::string> parts = parts_of(name);
    ++names;
    EXPECT_EQ(line, "# TYPE " + name + " gauge");
    EXPECT_EQ(of_other_types.count(parts.back()), 0U) << name;
    for (const std::string& part : parts) {
      EXPECT_EQ(abbreviated.count(part), 0U) << name;
      EXPECT_FALSE(part.empty()) << name;
    }
  }
  EXPECT_GT(names, 100U);
}

TEST(RecordFormats, OpenTelemetryKeepsUnitsOutOfNames) {
  const Record record = record_of_all_numbers();
  const std::vector<CsvRecord> rows = {{record, {}, std::nullopt}};
  const OrderedJson request = OrderedJson::parse(otlp_of(rows));
  std::set<std::string> names;
  for (const OrderedJson& metric : request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]) {
    const auto name = metric["name"].get<std::string>();
    EXPECT_TRUE(names.insert(name).second) << name;
    for (const char* ending : {".", "_ms", "_s", "_j", "_w", "gflops", "_mhz"})
      EXPECT_FALSE(name.ends_with(ending)) << name;
  }
  EXPECT_TRUE(names.contains("assay.rates.flop_rate"));
  EXPECT_TRUE(names.contains("assay.rates.byte_rate"));
}

TEST(RecordFormats, PrometheusKeepsWhatWasMeasuredLastWhereverItStands) {
  Record record = made_up_cell()[0];
  record.latency.made().median_ms = 2;
  Record earlier = record;
  earlier.latency.made().median_ms = 9;
  const std::vector<CsvRecord> rows = {{record, {}, RunOrigin{.date = "2026-01-02T03:04:05Z"}},
                                       {earlier, {}, RunOrigin{.date = "2025-12-31T23:59:59Z"}}};
  const std::string text = prometheus_of(rows);
  EXPECT_NE(text.find("} 0.002\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("} 0.009\n"), std::string::npos) << text;
}

TEST(RecordFormats, ABaselineOfAnotherShardHasNoMetrics) {
  Record record = made_up_cell()[0];
  record.share.made().compared_only = true;
  const std::vector<CsvRecord> rows = {{record, {}, std::nullopt}};
  EXPECT_EQ(prometheus_of(rows), "");
  EXPECT_EQ(mlflow_of(rows), "");
  EXPECT_EQ(otlp_of(rows).find("dataPoints"), std::string::npos);
}

TEST(RecordFormats, TypesOfColumnsAreThoseOfTheFieldsWhateverIsThere) {
  const std::string table = sql_of({});
  EXPECT_NE(table.find("\"median_ms\" DOUBLE PRECISION"), std::string::npos) << table;
  EXPECT_NE(table.find("\"batch\" BIGINT"), std::string::npos);
  EXPECT_NE(table.find("\"trust_reasons\" TEXT"), std::string::npos);
}

TEST(RecordFormats, LabelsOfPrometheusAreEscaped) {
  Record record = made_up_cell()[0];
  record.setting.model = "a \"model\"\\of\nmine";
  const std::vector<CsvRecord> rows = {{record, {}, std::nullopt}};
  EXPECT_NE(prometheus_of(rows).find(R"(model="a \"model\"\\of\nmine")"), std::string::npos);
}

TEST(RecordFormats, RunsOfMlflowHoldParamsMetricsAndWhen) {
  const Rows made;
  const std::vector<OrderedJson> runs = parsed_lines(mlflow_of(made.rows));
  ASSERT_EQ(runs.size(), made.rows.size());
  EXPECT_EQ(runs[0]["start_time"], 1767323045678);
  const OrderedJson& metrics = runs[0]["metrics"];
  const auto median = std::find_if(metrics.begin(), metrics.end(),
                                   [](const OrderedJson& one) { return one["key"] == "latency.median_ms"; });
  ASSERT_NE(median, metrics.end());
  EXPECT_DOUBLE_EQ((*median)["value"].get<double>(), *made.records[0].latency->median_ms);
  EXPECT_NE(std::find(runs[0]["params"].begin(), runs[0]["params"].end(),
                      OrderedJson({{"key", "precision"}, {"value", made.records[0].setting.precision}})),
            runs[0]["params"].end());
}

TEST(RecordFormats, NamesOfAllFieldsDiffer) {
  std::set<std::string> names;
  for (const Field& field : record_fields())
    EXPECT_TRUE(names.insert(std::string(field.part) + "." + field.name).second) << field.name;
}

}  // namespace
}  // namespace assay
