#include "rules/physics.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Physics, ALimitLeavesRoomForItsOwnError) {
  EXPECT_FALSE(is_impossible(exactly(105), 100));
  EXPECT_TRUE(is_impossible(exactly(106), 100));
  EXPECT_FALSE(is_impossible({99, 1000}, 100)) << "what rounding leaves possible is possible";
}

TEST(Physics, CachesNeedNotBeReadAgain) {
  EXPECT_DOUBLE_EQ(rate_from_memory(3e9, 1e9, exactly(10)).low, 2e11);
  EXPECT_EQ(rate_from_memory(1e6, 1e9, exactly(10)).high, 0);
  EXPECT_LT(rate_from_memory(3e9, 1e9, {10, 11}).low, rate_from_memory(3e9, 1e9, {10, 11}).high);
}

TEST(Physics, RateTimesLatencyIsTheBatch) {
  EXPECT_DOUBLE_EQ(items_of_run(exactly(80), exactly(100)).low, 8);
}

TEST(Physics, ASpeedUpHasItsReason) {
  EXPECT_EQ(most_speedup(0.5, 0.25), 1);
  EXPECT_EQ(most_speedup(6, 2), 6);
  EXPECT_EQ(most_speedup(1, 4), 4);
}

TEST(Physics, WhatIsCountedIsJudgedMoreNarrowlyThanWhatIsPrinted) {
  for (const int bits : {4, 5, 6, 8, 16, 32}) {
    ASSERT_NE(size_share(bits), nullptr);
    const SizeShare& share = *size_share(bits);
    EXPECT_EQ(share.bits, bits);
    EXPECT_TRUE(contains(share.counted, bits / 32.0)) << bits;
    EXPECT_LE(share.printed.low, share.counted.low);
    EXPECT_GE(share.printed.high, share.counted.high);
  }
  EXPECT_EQ(size_share(7), nullptr);
}

TEST(Physics, EachPrecisionHasItsShare) {
  for (const Precision& row : precision_table()) EXPECT_NE(size_share(stored_bits(row)), nullptr) << row.name;
}

TEST(Physics, PerplexityIsThatOfTheModel) {
  const KnownModel& gpt2 = *find_known_model("gpt2");
  EXPECT_TRUE(is_usual_perplexity(exactly(gpt2.perplexity_low), gpt2));
  EXPECT_FALSE(is_usual_perplexity(exactly(217), gpt2));
  EXPECT_TRUE(is_usual_perplexity({20, 217}, gpt2));
}

}  // namespace
}  // namespace assay
