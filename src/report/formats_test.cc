#include "report/formats.h"
#include "base/json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "report/render.h"
#include "results/fields.h"
#include "results/made_up_test.h"
#include "rules/rules.h"

namespace assay {
namespace {

Document document_with_unsupported() {
  Document document;
  document.records = made_up_cell();
  document.records.push_back(made_up_decode("bf16", 40));
  document.records.push_back(made_up_left_out("fp16", Status::unsupported, "says \"no\", | twice\nand breaks"));
  document = judged(std::move(document));
  return document;
}

/// A reader of RFC 4180, for the test.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      rows.back().back() += text[++i];
    } else if (c == '"') {
      inside = !inside;
    } else if (!inside && c == ',') {
      rows.back().emplace_back();
    } else if (!inside && c == '\r') {
      continue;
    } else if (!inside && c == '\n') {
      rows.emplace_back(1);
    } else {
      rows.back().back() += c;
    }
  }
  rows.pop_back();
  return rows;
}

TEST(Csv, HoldsEveryFieldOfEveryRecordThroughQuoting) {
  const Document document = document_with_unsupported();
  const auto rows = parse_csv(render(document, ReportFormat::csv, {}));
  ASSERT_EQ(rows.size(), document.records.size() + 1);
  const auto fields = record_fields();
  for (const auto& row : rows) ASSERT_EQ(row.size(), fields.size() + 4) << "the run's own";
  for (std::size_t f = 0; f < fields.size(); ++f) {
    EXPECT_EQ(rows[0][f], fields[f].name);
    for (std::size_t r = 0; r < document.records.size(); ++r) {
      const OrderedJson value = to_json(document.records[r])[fields[f].name];
      const std::string text = value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
      EXPECT_EQ(rows[r + 1][f], text) << fields[f].name;
    }
  }
}

TEST(Json, IsTheDocumentWithAllItsParts) {
  const Json json = parse_json(json_report(document_with_unsupported()), "test");
  EXPECT_EQ(json["schema"], document_schema_name);
  EXPECT_TRUE(json["machine"].is_object());
  EXPECT_EQ(json["records"].size(), 6u);
  EXPECT_EQ(json["records"][2]["raw_ms"].size(), 40u);
  EXPECT_TRUE(json["records"][2]["energy_j"].is_null());
  EXPECT_EQ(json["records"][2]["energy_status"], "no meter: /sys/class/powercap is absent");
  EXPECT_FALSE(json["findings"].empty());
}

TEST(Json, SurvivesNamesThatAreNotUtf8) {
  Document document = document_with_unsupported();
  document.records[0].setting.model = "bad\xff\xfename";
  const Json json = parse_json(json_report(document), "test");
  EXPECT_EQ(json["records"][0]["precision"], "fp32");
}

TEST(Markdown, EveryTableIsRectangular) {
  std::istringstream lines(render(document_with_unsupported(), ReportFormat::markdown, {}));
  std::ptrdiff_t bars = 0;
  int tables = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) {
      bars = 0;
      continue;
    }
    std::string unescaped = line;
    for (auto at = unescaped.find("\\|"); at != std::string::npos; at = unescaped.find("\\|")) unescaped.erase(at, 2);
    const auto here = std::count(unescaped.begin(), unescaped.end(), '|');
    if (bars == 0) ++tables;
    EXPECT_TRUE(bars == 0 || here == bars) << line;
    bars = here;
  }
  EXPECT_EQ(tables, 2);
}

TEST(Markdown, NamesUnitsAndMeanings) {
  const std::string text = render(document_with_unsupported(), ReportFormat::markdown, {});
  EXPECT_NE(text.find("| median_ms | ms |"), std::string::npos);
  EXPECT_NE(text.find("unsupported: says \"no\", | twice and breaks"), std::string::npos);
}

}  // namespace
}  // namespace assay
