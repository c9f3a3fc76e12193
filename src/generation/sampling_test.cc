#include "generation/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace assay {
namespace {

/// Natural logarithms of 0.5, 0.25, 0.15 and 0.1, out of order.
const std::vector<float> four = {std::log(0.15F), std::log(0.5F), std::log(0.1F), std::log(0.25F)};

/// How often each id was drawn of 20,000.
std::map<std::int32_t, double> shares(const Sampling& sampling) {
  constexpr int draws = 20000;
  Random random(7);
  std::map<std::int32_t, double> found;
  for (int i = 0; i < draws; ++i) found[choose_token(four, sampling, random)] += 1.0 / draws;
  return found;
}

TEST(Sampling, GreedyTakesTheMostProbableAndOfEqualOnesTheFirst) {
  Random random(1);
  EXPECT_EQ(choose_token(four, {}, random), 1);
  EXPECT_EQ(choose_token(std::vector<float>{2, 5, 5}, {}, random), 1);
  std::vector<float> many(37, -1.0F);
  many[20] = many[36] = 2;
  EXPECT_EQ(most_probable(many), 20);
  EXPECT_EQ(most_probable(std::vector<float>{-3}), 0);
}

TEST(Sampling, ALogProbabilityIsOfTheWholeRow) {
  EXPECT_NEAR(log_probability(four, 1), std::log(0.5), 1e-6);
  EXPECT_NEAR(log_probability(four, 2), std::log(0.1), 1e-6);
}

TEST(Sampling, NothingIsChosenOfWhatIsNoNumber) {
  EXPECT_TRUE(are_finite(std::vector<float>{-1e38F, 3e38F}));
  for (const float odd : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()})
    EXPECT_FALSE(are_finite(std::vector<float>{1, 2, odd, 3})) << odd;
}

TEST(Sampling, DrawsByProbability) {
  const auto found = shares({.temperature = 1});
  EXPECT_NEAR(found.at(0), 0.15, 0.01);
  EXPECT_NEAR(found.at(1), 0.5, 0.015);
  EXPECT_NEAR(found.at(2), 0.1, 0.01);
  EXPECT_NEAR(found.at(3), 0.25, 0.015);
}

/// Squares of the probabilities at half the temperature.
TEST(Sampling, ALowTemperatureSharpens) {
  const double sum = 0.25 + 0.0625 + 0.0225 + 0.01;
  EXPECT_NEAR(shares({.temperature = 0.5}).at(1), 0.25 / sum, 0.015);
}

TEST(Sampling, WhatIsLeftOutIsNeverDrawn) {
  EXPECT_EQ(shares({.temperature = 1, .top_k = 2}).size(), 2U);
  EXPECT_NEAR(shares({.temperature = 1, .top_k = 2}).at(3), 0.25 / 0.75, 0.015);
  EXPECT_EQ(shares({.temperature = 1, .top_p = 0.7}).size(), 2U);   // 0.5 + 0.25
  EXPECT_EQ(shares({.temperature = 1, .top_p = 0.01}).size(), 1U);  // one stays, whatever the share
  EXPECT_EQ(shares({.temperature = 1, .min_p = 0.45}).size(), 2U);  // half of the most probable one's
  EXPECT_EQ(shares({.temperature = 1, .top_k = 100}).size(), 4U);
}

}  // namespace
}  // namespace assay
