#include "published/rule_document.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/file.h"
#include "published/table_rules.h"
#include "rules/rules.h"

namespace assay {
namespace {

TEST(TableRules, HaveWordsAndOneRowEach) {
  std::set<std::string> ids;
  for (const TableRule& rule : table_rules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_GT(std::string(rule.states).size(), 10u) << rule.id;
    EXPECT_GT(std::string(rule.evidence).size(), 3u) << rule.id;
    EXPECT_GT(std::string(rule.remedy).size(), 10u) << rule.id;
  }
}

TEST(TableRules, HaveTheWordsOfARuleOverRecordsWhereThereIsOne) {
  int shared = 0;
  for (const TableRule& rule : table_rules()) {
    for (const Rule& other : rules()) shared += std::string(rule.id) == other.id && rule.states == other.states ? 1 : 0;
  }
  EXPECT_EQ(shared, 16);
}

std::string table_of_rules() {
  std::string text = "| rule | kind | grade | what it says | evidence |\n|---|---|---|---|---|\n";
  for (const Rule& rule : rules()) {
    const std::string grade = rule.grade == ' ' ? "" : std::string(1, rule.grade);
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", rule.id, name(rule.kind), grade, rule.states, rule.evidence);
  }
  return text;
}

/// To write it anew after a change of the rules: ASSAY_WRITE_DOCS=1 test_published
void expect_in_page(const std::string& path, const std::string& rules_table) {
  std::string page = read_file(path);
  const auto comment = page.find("<!-- rules: written by ");
  const auto to = page.find("<!-- end of rules -->");
  ASSERT_TRUE(comment != std::string::npos && to != std::string::npos);
  const auto start = page.find('\n', comment) + 1;
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

}  // namespace
}  // namespace assay
