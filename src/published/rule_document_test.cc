#include "published/rule_document.h"

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

/// To write it anew after a change of the rules: ASSAY_WRITE_DOCS=1 test_published
void expect_in_page(const std::string& path, const std::string& list) {
  std::string page = read_file(path);
  const auto comment = page.find("<!-- rules: written by ");
  const auto to = page.find("<!-- end of rules -->");
  ASSERT_TRUE(comment != std::string::npos && to != std::string::npos);
  const auto start = page.find('\n', comment) + 1;
  if (std::getenv("ASSAY_WRITE_DOCS") != nullptr) {
    write_file_atomically(path, page.substr(0, start) + list + page.substr(to));
    page = read_file(path);
  }
  EXPECT_EQ(page.substr(start, page.find("<!-- end of rules -->") - start), list);
}

TEST(Rules, AreAllInTheirPage) {
  expect_in_page(ASSAY_SOURCE_DIR "/docs/findings.md", rules_of_the_page());
}

}  // namespace
}  // namespace assay
