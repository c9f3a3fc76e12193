#include "base/printable.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Printable, KeepsReadableTextOfAnyScript) {
  EXPECT_EQ(printable("h.0.attn.c_attn.weight"), "h.0.attn.c_attn.weight");
  EXPECT_EQ(printable("größe 重み 🙂"), "größe 重み 🙂");
}

TEST(Printable, NeverHoldsAControlCharacterOrALineEnd) {
  EXPECT_EQ(printable("a\nb\r\x1b[31m"), "a\\x0ab\\x0d\\x1b[31m");
  EXPECT_EQ(printable("\u0085\u2028"), "\\xc2\\x85\\xe2\\x80\\xa8");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(Printable, ShowsMalformedUtf8ByteByByte) {
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "past U+10FFFF";
}

TEST(Printable, ShowsWhatTurnsTheDirectionOfReadingOrCannotBeSeen) {
  EXPECT_EQ(printable("a\u202Eb"), "a\\xe2\\x80\\xaeb");
  EXPECT_EQ(printable("\u2066\u200B"), "\\xe2\\x81\\xa6\\xe2\\x80\\x8b");
  EXPECT_EQ(printable("\u0915\u094D\u200D\u0937"), "\u0915\u094D\u200D\u0937") << "a joiner is part of the script";
}

TEST(Printable, AnErrorKeepsItsEnd) {
  const std::string shown = printable_error("assay: " + std::string(5000, 'x') + ": File name too long", 2000);
  EXPECT_LT(shown.size(), 2100U);
  EXPECT_TRUE(shown.starts_with("assay: xxx"));
  EXPECT_TRUE(shown.ends_with(": File name too long"));
  EXPECT_EQ(printable_error("short", 2000), "short");
}

TEST(Printable, ResultsKeepTheirLinesAndNothingThatATerminalObeys) {
  EXPECT_EQ(harmless("a\tb\nc\r\nd größe\n"), "a\tb\nc\r\nd größe\n");
  EXPECT_EQ(harmless("\x1b[31m\r\u009b\u202e\x7f"), "\\u001b[31m\\u000d\\u009b\\u202e\\u007f");
  EXPECT_EQ(harmless("\U000E0041"), "\\udb40\\udc41") << "as JSON writes it";
  EXPECT_EQ(harmless("\xff!"), "\\xff!");
  EXPECT_EQ(harmless(""), "");
}

TEST(Printable, CutsLongText) {
  const std::string shown = printable(std::string(100'000, 'x'));
  EXPECT_EQ(shown, std::string(120, 'x') + "...");
}

}  // namespace
}  // namespace assay
