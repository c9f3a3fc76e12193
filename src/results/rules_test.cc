#include "results/rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/file.h"
#include "results/fields.h"
#include "results/judged_test.h"
#include "results/rule_document.h"
#include "results/rule_tables.h"

namespace assay {
namespace {

TEST(Rules, HaveUniqueNamesAndWords) {
  std::set<std::string> ids;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_GT(std::string(rule.states).size(), 10u) << rule.id;
    EXPECT_GT(std::string(rule.evidence).size(), 3u) << rule.id;
    const bool has_grade = rule.kind == RuleKind::gate || rule.kind == RuleKind::trust;
    EXPECT_EQ(rule.grade != ' ', has_grade) << rule.id;
    EXPECT_GT(std::string(rule.remedy).size(), 10u) << rule.id;
    EXPECT_TRUE(rule.judge || rule.check) << rule.id;
  }
}

std::string table_of_rules() {
  std::string text = "| rule | kind | grade | what it says | evidence |\n|---|---|---|---|---|\n";
  for (const Rule& rule : rules()) {
    if (!rule.judge) continue;
    const std::string grade = rule.grade == ' ' ? "" : std::string(1, rule.grade);
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", rule.id, name(rule.kind), grade, rule.states, rule.evidence);
  }
  return text;
}

/// To write it anew after a change of the rules: ASSAY_WRITE_DOCS=1 test_results
void expect_in_page(const std::string& path, const std::string& rules_table) {
  const std::string begin = "<!-- rules: written by ASSAY_WRITE_DOCS=1 test_results -->\n";
  std::string page = read_file(path);
  const auto from = page.find(begin);
  const auto to = page.find("<!-- end of rules -->");
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos);
  const auto start = from + begin.size();
  if (std::getenv("ASSAY_WRITE_DOCS") != nullptr) {
    write_file_atomically(path, page.substr(0, start) + rules_table + page.substr(to));
    page = read_file(path);
  }
  EXPECT_EQ(page.substr(start, page.find("<!-- end of rules -->") - start), rules_table);
}

TEST(Rules, AreAllInTheDocuments) {
  expect_in_page(ASSAY_SOURCE_DIR "/docs/measuring.md", table_of_rules());
  expect_in_page(ASSAY_SOURCE_DIR "/docs/findings.md", rules_markdown());
}

TEST(Judge, ComparesWithinACellAndSaysARepeatedSentenceOnce) {
  std::vector<Record> records = made_up_cell();
  for (Record record : made_up_cell()) {
    record.batch = 8;
    derive(record);
    records.push_back(record);
  }
  const auto findings = judge(records);
  const auto sizes = std::count_if(findings.begin(), findings.end(), [](const Finding& f) { return f.rule == "size"; });
  const auto advice =
      std::count_if(findings.begin(), findings.end(), [](const Finding& f) { return f.rule == "advice"; });
  EXPECT_EQ(sizes, 3);
  EXPECT_EQ(advice, 2);
}

TEST(Judge, TheMedianOfAnEvenNumberIsTheMiddleOfTheTwoInTheMiddle) {
  EXPECT_EQ(median_of({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median_of({1, 9}), 5);
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({7}), 7);
}

TEST(Judge, FieldsThatAFileLeavesOutAreNeverRead) {
  const std::vector<Record> whole = made_up_cell();
  for (const Field& field : record_fields()) {
    std::vector<Record> records = whole;
    for (Record& record : records) {
      record.mcnemar_p = 0.01;
      std::visit(
          [&](auto member) {
            if constexpr (requires { (record.*member).reset(); }) (record.*member).reset();
          },
          field.member);
    }
    judge(records);
    records.front().status = Status::impossible;
    for (const Finding& finding : judge_in_full(records)) EXPECT_FALSE(finding.text.empty()) << field.name;
  }
}

TEST(Judge, IsSilentAboutNothing) {
  std::vector<Record> none;
  EXPECT_TRUE(judge(none).empty());
}

}  // namespace
}  // namespace assay
