#include "report/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace assay {
namespace {

TEST(Text, IsQuotedAsItsReaderWants) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
  EXPECT_EQ(markdown_cell("a|b\nc"), "a\\|b c");
  EXPECT_EQ(terminal_text("±\x1b[2J"), "±\\x1b[2J");
  EXPECT_EQ(ratio_text(1.234), "1.23");
  EXPECT_EQ(ratio_text(12.34), "12.3");
}

TEST(Text, WidthCountsCodePoints) {
  EXPECT_EQ(display_width("43.1 ±0.9%"), 10u);
  EXPECT_EQ(display_width(""), 0u);
}

TEST(Text, CuttingKeepsWholeCodePoints) {
  EXPECT_EQ(cut("±±±±", 3), "±±…");
  EXPECT_EQ(cut("abc", 3), "abc");
  EXPECT_EQ(cut("fused: avx512 f32", 12), "fused:…") << "whole words, where there are any";
  EXPECT_EQ(cut("fused: avx512 f32", 14), "fused: avx512…");
  EXPECT_EQ(cut("abc", 0), "");
}

TEST(Text, PaddingCountsColumnsAndNeverCuts) {
  EXPECT_EQ(pad_left("±1", 4), "  ±1");
  EXPECT_EQ(pad_right("±1", 4), "±1  ");
  EXPECT_EQ(pad_left("long", 2), "long");
}

TEST(Text, WrappedLinesStayWithinTheWidthAndLoseNoWord) {
  const std::string text = "one two ± three a-word-that-is-much-longer-than-the-width four";
  for (std::size_t width = 12; width < 80; ++width) {
    std::istringstream lines(wrap(text, width, 4));
    std::string joined;
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(display_width(line), width);
      joined += line;
    }
    const auto without_spaces = [](std::string from) {
      from.erase(std::remove(from.begin(), from.end(), ' '), from.end());
      return from;
    };
    EXPECT_EQ(without_spaces(joined), without_spaces(text)) << width;
  }
}

TEST(Text, ShortTextIsNotWrapped) {
  EXPECT_EQ(wrap("just fits", 9, 2), "just fits");
  EXPECT_EQ(wrap("just fits", 8, 2), "just\n  fits");
}

}  // namespace
}  // namespace assay
