#include "statistics/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace assay {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> values;
  for (int i = 1; i <= n; ++i) values.push_back(i);
  return values;
}

std::vector<double> normals(Random& random, int n, double mean, double deviation) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(mean + deviation * random.next_normal());
  return values;
}

TEST(Welford, KeepsTheDeviationOfSmallDifferencesOnALargeOffset) {
  Welford moments;
  for (const double value : {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}) moments.add(value);
  EXPECT_DOUBLE_EQ(moments.mean(), 1e9 + 10);
  EXPECT_DOUBLE_EQ(moments.standard_deviation(), std::sqrt(30.0));
}

TEST(Welford, HasNoDeviationBelowTwoValues) {
  Welford moments;
  moments.add(5);
  EXPECT_EQ(moments.standard_deviation(), 0.0);
}

TEST(Quantile, IsLinearBetweenOrderStatistics) {
  const std::vector<double> values = {1, 2, 4, 8};
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 3.0);
  EXPECT_DOUBLE_EQ(quantile(values, 0.1), 1.3);
  EXPECT_DOUBLE_EQ(quantile(values, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(quantile(values, 1.0), 8.0);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{7}, 0.9), 7.0);
}

TEST(Interval, IsLopsidedOrLeavesNoFigureByItsEnds) {
  EXPECT_FALSE(is_lopsided(10, {9, 11}));
  EXPECT_FALSE(is_lopsided(10, {9.99, 10.3}));
  EXPECT_TRUE(is_lopsided(10, {9.9, 11}));
  EXPECT_TRUE(is_lopsided(-10, {-11, -9.9}));
  EXPECT_FALSE(leaves_no_figure(10, {0.1, 20}));
  EXPECT_TRUE(leaves_no_figure(10, {9, 29}));
  EXPECT_TRUE(leaves_no_figure(0, {-1, 1}));
}

TEST(Median, DoesNotNeedSortedValues) {
  EXPECT_DOUBLE_EQ(median(std::vector<double>{9, 1, 5}), 5.0);
}

// Orders of the classical tables of the sign test at 95 %.
TEST(MedianInterval, TakesTheOrdersOfTheSignTest) {
  EXPECT_FALSE(median_interval(one_to(5)).has_value());
  const auto six = median_interval(one_to(6));
  ASSERT_TRUE(six);
  EXPECT_EQ(six->low, 1);
  EXPECT_EQ(six->high, 6);
  const auto twenty = median_interval(one_to(20));
  ASSERT_TRUE(twenty);
  EXPECT_EQ(twenty->low, 6);
  EXPECT_EQ(twenty->high, 15);
  const auto hundred = median_interval(one_to(100));
  ASSERT_TRUE(hundred);
  EXPECT_EQ(hundred->low, 40);
  EXPECT_EQ(hundred->high, 61);
}

TEST(MedianInterval, StaysFiniteForManySamples) {
  const auto interval = median_interval(one_to(5000));
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 2500 - 1.96 * std::sqrt(5000.0) / 2, 2);
}

TEST(MedianInterval, CoversTheMedianOfASkewedDistributionAtItsRate) {
  Random random(11);
  int covered = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> values;
    for (int i = 0; i < 25; ++i) values.push_back(-std::log(random.next_uniform()));  // exponential, median ln 2
    std::sort(values.begin(), values.end());
    const auto interval = median_interval(values);
    ASSERT_TRUE(interval);
    if (interval->low <= std::log(2.0) && std::log(2.0) <= interval->high) ++covered;
  }
  EXPECT_GE(covered, 1900);
}

TEST(Summary, IsAbsentWithoutSamplesAndHasNoIntervalForFew) {
  EXPECT_FALSE(summarise({}).has_value());
  const auto few = summarise(one_to(3));
  ASSERT_TRUE(few);
  EXPECT_EQ(few->samples, 3u);
  EXPECT_DOUBLE_EQ(few->median, 2);
  EXPECT_DOUBLE_EQ(few->mean, 2);
  EXPECT_DOUBLE_EQ(few->standard_deviation, 1);
  EXPECT_FALSE(few->interval.has_value());
}

TEST(PairedRatio, CancelsASlowPhaseThatHitsBothHalvesOfARound) {
  std::vector<double> baseline;
  std::vector<double> subject;
  for (int round = 0; round < 20; ++round) {
    const double phase = round % 3 == 0 ? 5.0 : 1.0;
    baseline.push_back(6 * phase);
    subject.push_back(2 * phase);
  }
  const auto ratio = paired_ratio(baseline, subject, 1);
  ASSERT_TRUE(ratio && ratio->interval);
  EXPECT_DOUBLE_EQ(ratio->value, 3);
  EXPECT_DOUBLE_EQ(ratio->interval->low, 3);
  EXPECT_DOUBLE_EQ(ratio->interval->high, 3);
}

TEST(PairedRatio, CoversTheTruthAboutAsOftenAsItSays) {
  Random random(5);
  int covered = 0;
  constexpr int trials = 150;
  for (int trial = 0; trial < trials; ++trial) {
    const auto ratio = paired_ratio(normals(random, 30, 10, 0.5), normals(random, 30, 5, 0.2), 77);
    ASSERT_TRUE(ratio && ratio->interval);
    if (ratio->interval->low <= 2 && 2 <= ratio->interval->high) ++covered;
  }
  EXPECT_GE(covered, trials * 88 / 100);
  EXPECT_LT(covered, trials);  // an interval that always covers is not one of 95 %
}

TEST(PairedRatio, IsReproducibleBySeedAndAbsentWithoutARound) {
  Random random(8);
  const auto a = normals(random, 12, 10, 1);
  const auto b = normals(random, 12, 5, 1);
  EXPECT_EQ(paired_ratio(a, b, 3)->interval->low, paired_ratio(a, b, 3)->interval->low);
  EXPECT_FALSE(paired_ratio(a, {}, 3).has_value());
  EXPECT_FALSE(paired_ratio(std::span(a).first(5), b, 3)->interval.has_value());
}

}  // namespace
}  // namespace assay
