#include "studies/accumulate/ranks.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace assay {
namespace {

/// Every rank's gradient is the same sum of a common part and noise, as those of one model on other rows are.
RankGradients made_up_gradients(std::int64_t ranks, float common) {
  RankGradients gradients{ranks, 512, {}};
  Random random(3);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    for (std::int64_t i = 0; i < gradients.elements; ++i)
      gradients.values.push_back(common + static_cast<float>(random.next_uniform()) - 0.5F);
  }
  return gradients;
}

double relative(const RankGradients& gradients, std::int64_t ranks, RankSum algorithm, DType wire, DType sum) {
  return rank_sum_error(gradients, ranks, algorithm, wire, sum).relative;
}

TEST(RankSums, DirectSumsInF32LoseNoMoreThanTheWire) {
  const RankGradients gradients = made_up_gradients(256, 1);
  for (const std::int64_t ranks : {2, 16, 256}) {
    const RankSumError error = rank_sum_error(gradients, ranks, RankSum::direct, DType::bf16, DType::f32);
    EXPECT_LT(error.relative, 1.01 * error.wire_relative) << ranks;
    EXPECT_GT(error.relative, 0);
  }
}

TEST(RankSums, RingsLoseMoreThanTreesAndThoseMoreThanDirectExchange) {
  const RankGradients gradients = made_up_gradients(256, 1);
  const auto of = [&](RankSum algorithm) { return relative(gradients, 256, algorithm, DType::bf16, DType::f32); };
  EXPECT_GT(of(RankSum::ring), 3 * of(RankSum::tree));
  EXPECT_GT(of(RankSum::tree), of(RankSum::direct));
}

TEST(RankSums, SumsOfSixteenBitsInRankOrderStopGrowing) {
  const RankGradients gradients = made_up_gradients(1024, 1);
  const RankSumError narrow = rank_sum_error(gradients, 1024, RankSum::direct, DType::bf16, DType::bf16);
  EXPECT_GT(narrow.lost, 0.3) << "beyond 256 equal addends half an ulp exceeds the next";
  EXPECT_GT(narrow.relative, 0.3);
  EXPECT_LT(relative(gradients, 1024, RankSum::tree, DType::bf16, DType::bf16), 0.02);
}

TEST(RankSums, WithF32EverywhereAllAreExactToSevenDigits) {
  const RankGradients gradients = made_up_gradients(64, 1);
  for (const RankSum algorithm : {RankSum::ring, RankSum::tree, RankSum::direct})
    EXPECT_LT(relative(gradients, 64, algorithm, DType::f32, DType::f32), 1e-6);
}

/// f16 ends at 65504.
TEST(RankSums, WhatPassesTheLargestValueIsCounted) {
  const RankGradients gradients = made_up_gradients(128, 1000);
  EXPECT_EQ(rank_sum_error(gradients, 128, RankSum::direct, DType::f16, DType::f16).not_finite, 512);
  EXPECT_EQ(rank_sum_error(gradients, 16, RankSum::direct, DType::f16, DType::f16).not_finite, 0);
}

}  // namespace
}  // namespace assay
