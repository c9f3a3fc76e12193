#include "text/id_list.h"

#include <gtest/gtest.h>

#include "formats/testing.h"

namespace assay {
namespace {

using Listed = std::vector<std::int32_t>;

TEST(IdLists, AreJsonOrNumbersBetweenWhiteSpace) {
  for (const char* text : {R"({"ids": [5, 0, 2147483647]})", "[5, 0, 2147483647]", " 5\t0\r\n2147483647\n"}) {
    EXPECT_EQ(parse_ids(text, "ids"), (Listed{5, 0, 2147483647})) << text;
  }
  for (const char* text : {"", " \n", "[]", R"({"ids": []})"}) EXPECT_EQ(parse_ids(text, "ids"), Listed{}) << text;
}

TEST(IdLists, SayWhichEntryIsNoId) {
  const auto refusal = [](const char* text) { return user_error_of([&] { parse_ids(text, "ids.json"); }); };
  EXPECT_EQ(refusal("[1, -2]"), "ids.json: id 1 is -2, not a whole number from 0 to 2^31 - 1");
  EXPECT_EQ(refusal("[1.5]"), "ids.json: id 0 is 1.5, not a whole number from 0 to 2^31 - 1");
  EXPECT_EQ(refusal("[18446744073709551615]"),
            "ids.json: id 0 is 18446744073709551615, not a whole number from 0 to 2^31 - 1");
  EXPECT_EQ(refusal("3 2147483648"), "ids.json: id 1 is 2147483648, not a whole number from 0 to 2^31 - 1");
  EXPECT_EQ(refusal("3 4 ids"), "ids.json: id 2 is ids, not a whole number from 0 to 2^31 - 1");
  EXPECT_EQ(refusal("[[1]]"), "ids.json: id 0 is [1], not a whole number from 0 to 2^31 - 1");
  EXPECT_EQ(refusal(R"({"tokens": [1]})"), "ids.json: is neither {\"ids\": [..]} nor a list of ids");
  EXPECT_TRUE(refusal("[1, 2").starts_with("ids.json: "));
}

}  // namespace
}  // namespace assay
