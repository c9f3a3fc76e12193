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

TEST(Printable, CutsLongText) {
  const std::string shown = printable(std::string(100'000, 'x'));
  EXPECT_EQ(shown, std::string(120, 'x') + "...");
}

}  // namespace
}  // namespace assay
