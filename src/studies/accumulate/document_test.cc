#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "studies/accumulate/request.h"

namespace assay {
namespace {

constexpr AccumulateRequest thousand_terms = {.addend = 0.01, .count = 1000};

TEST(AccumulateDocument, SaysWhatTheFiguresSay) {
  const Document document = accumulate(thousand_terms);
  const auto& notes = document.sentences.front().texts;
  const auto says = [&](const std::string& part) {
    return std::ranges::any_of(notes, [&](const std::string& note) { return note.find(part) != note.npos; });
  };
  EXPECT_TRUE(says("bf16 accumulates worse than f16 here: -6 off against -0.046875"));
  EXPECT_TRUE(says("not below 1e-6"));
  EXPECT_TRUE(says("1,000 x f16(0.01) is 10.00213623046875: all of the error is the addend's"));
  EXPECT_TRUE(says("bf16 stops growing at step 351: at 4 half an ulp of bf16 is 0.015625, more than the addend"));
  EXPECT_TRUE(says("f16 would stop growing at step 2,799"));
  const Document exact = accumulate({.addend = 1, .count = 2});
  const std::string& order = exact.sentences.front().texts[1];
  EXPECT_NE(order.find("no worse"), std::string::npos) << "where both are exact, the note says so: " << order;
}

TEST(AccumulateDocument, ItsJsonHasNoInfinityAndNoGrowthWhereNothingGrowsStepByStep) {
  const Json json = parse_json(to_json(accumulate({.addend = 30'000, .count = 10})).dump(), "accumulate");
  EXPECT_EQ(json["count"], 10);
  EXPECT_EQ(json["rows"].size(), 19U);
  EXPECT_EQ(json["rows"][0]["result"], 300'000.0);
  EXPECT_TRUE(json["rows"][1]["result"].is_null()) << "infinity in f16";
  EXPECT_EQ(json["rows"][1]["growth"]["cause"], "overflow");
  EXPECT_TRUE(json["rows"].back()["growth"].is_null()) << "stochastic rounding";
}

}  // namespace
}  // namespace assay
