#include "text/added_tokens.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

std::vector<std::int32_t> ids_of(const std::vector<AddedToken>& tokens, std::string_view text) {
  AddedTokenFinder finder;
  for (const AddedToken& token : tokens) finder.add(token.content, token);
  std::vector<std::int32_t> ids;
  for (const Segment& segment : finder.split(text)) {
    EXPECT_FALSE(segment.text.empty());
    ids.push_back(segment.id);
  }
  return ids;
}

/// Ids by the tokenizers library 0.22; -1 is text in between.
TEST(AddedTokens, WhiteSpaceThatTheOneBeforeTookIsNoTokenThatStrips) {
  const AddedToken word = {.content = "ab", .id = 5, .rstrip = true};
  const AddedToken left = {.content = " ", .id = 3, .lstrip = true};
  EXPECT_EQ(ids_of({word, left}, "ab "), std::vector<std::int32_t>{5});
  EXPECT_EQ(ids_of({word, left}, " ab ab "), (std::vector<std::int32_t>{3, 5, 5}));
  const AddedToken both = {.content = "  ", .id = 4, .lstrip = true, .rstrip = true};
  EXPECT_EQ(ids_of({both}, "    "), std::vector<std::int32_t>{4});
  EXPECT_EQ(ids_of({both}, "b    b"), (std::vector<std::int32_t>{-1, 4, -1}));
  const AddedToken plain = {.content = " ", .id = 3};
  EXPECT_EQ(ids_of({word, plain}, "ab "), (std::vector<std::int32_t>{5, 3})) << "one that strips nothing stands";
}

}  // namespace
}  // namespace assay
