#include "formats/table_text.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace assay {
namespace {

using Cells = std::vector<std::string>;

TextDocument markdown(const std::string& text) {
  return parse_tables(text, TextFormat::markdown, "test");
}
TextDocument csv(const std::string& text) {
  return parse_tables(text, TextFormat::csv, "test");
}

TEST(TableText, ReadsTablesBetweenPipes) {
  const TextDocument page = markdown("# Results\n\nOn a T4:\n\n| a | b \\| c |\n|:--|--:|\n| 1 | 2 |\n|3|\n\nend\n");
  ASSERT_EQ(page.tables.size(), 1u);
  const ParsedTable& table = page.tables[0];
  EXPECT_EQ(table.title, "Results");
  EXPECT_EQ(table.paragraph, "On a T4:");
  EXPECT_EQ(table.line, 5);
  EXPECT_EQ(table.header, (Cells{"a", "b | c"}));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].cells, (Cells{"1", "2"}));
  EXPECT_EQ(table.rows[1].line, 8);
  ASSERT_EQ(page.prose.size(), 3u);
  EXPECT_EQ(page.prose[2].text, "end");
}

TEST(TableText, ReadsGridsAndPlainText) {
  EXPECT_EQ(markdown("+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+\n| 3 | 4 |\n+---+---+\n")
                .tables.at(0)
                .rows.size(),
            2u);
  const TextDocument plain = markdown("Name    Time (s)\n================\nx y     1.0 ± 0.1\nz       2.0\n\n");
  ASSERT_EQ(plain.tables.size(), 1u);
  EXPECT_EQ(plain.tables[0].header, (Cells{"Name", "Time (s)"}));
  EXPECT_EQ(plain.tables[0].rows.at(0).cells, (Cells{"x y", "1.0 ± 0.1"}));
  EXPECT_TRUE(markdown("Title\n=====\n\nwords\n").tables.empty());
}

TEST(TableText, KnowsStruckRows) {
  const TextDocument page = markdown("| a | b |\n|---|---|\n| ~~x~~ | ~~1~~ |\n| y | 2 |\n");
  EXPECT_TRUE(page.tables.at(0).rows[0].is_struck);
  EXPECT_FALSE(page.tables.at(0).rows[1].is_struck);
}

TEST(TableText, ReadsCsvOfAnyDelimiter) {
  const TextDocument quoted = csv("a,b\n\"x, \"\"y\"\"\",2\n# a comment\n\n3,4\n");
  ASSERT_EQ(quoted.tables.size(), 1u);
  EXPECT_EQ(quoted.tables[0].rows.at(0).cells, (Cells{"x, \"y\"", "2"}));
  EXPECT_EQ(quoted.tables[0].rows.size(), 2u);
  EXPECT_EQ(csv("a;b\r\n0,7;2\r\n").tables.at(0).rows.at(0).cells, (Cells{"0,7", "2"}));
  EXPECT_EQ(csv("a\tb\n1\t2\n").tables.at(0).header.size(), 2u);
  EXPECT_TRUE(csv("\n\n").tables.empty());
}

TEST(TableText, TakesOtherBytesForLatin1AndRefusesBinary) {
  EXPECT_EQ(csv("a,b\n1\xB1"
                "2,3\n")
                .tables.at(0)
                .rows.at(0)
                .cells[0],
            "1±2");
  EXPECT_THROW(csv(std::string("a\0b", 3)), Error);
}

}  // namespace
}  // namespace assay
