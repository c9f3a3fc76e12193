#include "statistics/two_samples.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace assay {
namespace {

std::vector<double> steps(std::size_t count, double first) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i) + first;
  return values;
}

std::vector<double> normal(std::size_t count, double mean, Random& random) {
  std::vector<double> values(count);
  for (double& value : values) value = mean + random.next_normal();
  return values;
}

// Figures of scipy 1.x: stats.mannwhitneyu(b, a, method="exact").
TEST(MannWhitney, AgreesWithScipyWhereItIsExact) {
  const std::vector<double> a = {10.2, 11.4, 9.8, 10.9, 12.1};
  const std::vector<double> b = {11.0, 12.5, 13.1, 10.4, 12.9, 11.9, 13.4};
  const RankTest test = mann_whitney(a, b);
  EXPECT_TRUE(test.is_exact);
  EXPECT_EQ(test.statistic, 29);
  EXPECT_NEAR(test.p, 0.07323232323232323, 1e-12);
  EXPECT_NEAR(mann_whitney(std::vector<double>{1.1, 2.2, 3.3}, std::vector<double>{4.4, 5.5, 6.6}).p, 0.1, 1e-12);
  EXPECT_NEAR(mann_whitney(steps(20, 0), steps(20, 5.5)).p, 0.009483607191205003, 1e-12);
}

// Counted out over all 462 ways to choose six of the eleven values.
TEST(MannWhitney, CountsTiesOut) {
  const RankTest test = mann_whitney(std::vector<double>{1, 2, 2, 3, 5}, std::vector<double>{2, 3, 4, 4, 5, 6});
  EXPECT_EQ(test.statistic, 23);
  EXPECT_NEAR(test.p, 0.18181818181818182, 1e-12);
}

// method="asymptotic", with ties.
TEST(MannWhitney, AgreesWithScipyWhereItIsApproximated) {
  std::vector<double> a;
  std::vector<double> b;
  a.reserve(60);
  b.reserve(50);
  for (int i = 0; i < 60; ++i) a.push_back(i * 37 % 50);
  for (int i = 0; i < 50; ++i) b.push_back(i * 29 % 50 + 4);
  const RankTest test = mann_whitney(a, b);
  EXPECT_FALSE(test.is_exact);
  EXPECT_EQ(test.statistic, 1708.5);
  EXPECT_NEAR(test.p, 0.21172623512732813, 1e-9);
}

TEST(MannWhitney, EqualSeriesAndEmptyOnesSayNothing) {
  EXPECT_EQ(mann_whitney(std::vector<double>{3, 3, 3}, std::vector<double>{3, 3}).p, 1);
  EXPECT_EQ(mann_whitney(std::vector<double>(50, 3), std::vector<double>(50, 3)).p, 1);
  EXPECT_EQ(mann_whitney(std::vector<double>{}, std::vector<double>{3, 3}).p, 1);
}

TEST(MannWhitney, FindsADifferenceThatIsNotThereAsOftenAsItSays) {
  Random random(5);
  int found = 0;
  constexpr int trials = 1000;
  for (int i = 0; i < trials; ++i) {
    if (mann_whitney(normal(10, 0, random), normal(12, 0, random)).p < 0.05) ++found;
  }
  EXPECT_GT(found, 25);
  EXPECT_LT(found, 75);
}

// stats.wilcoxon(differences, method="exact"); with ties, PermutationMethod over all signs.
TEST(Wilcoxon, AgreesWithScipyWhereItIsExact) {
  const RankTest test = wilcoxon(std::vector<double>{1, 2, 3, 4, -5, 6, 7, 8, 9, 10, -11, 12});
  EXPECT_TRUE(test.is_exact);
  EXPECT_EQ(test.statistic, 78 - 16);
  EXPECT_NEAR(test.p, 0.0771484375, 1e-12);
  EXPECT_NEAR(wilcoxon(steps(10, 1)).p, 0.001953125, 1e-12);
  EXPECT_NEAR(wilcoxon(std::vector<double>{8, 11, -3, -5, 8, 9, 34, 3}).p, 0.0703125, 1e-12);
  EXPECT_NEAR(wilcoxon(std::vector<double>{1, 2, 2, -1, 3, 3, 5, -2, 4, 0}).p, 0.05078125, 1e-12);
}

// stats.wilcoxon(differences, method="asymptotic", correction=True)
TEST(Wilcoxon, AgreesWithScipyWhereItIsApproximated) {
  std::vector<double> differences;
  differences.reserve(80);
  for (int i = 0; i < 80; ++i) differences.push_back((i * 29 % 50 + 3) - i * 37 % 50);
  const RankTest test = wilcoxon(differences);
  EXPECT_FALSE(test.is_exact);
  EXPECT_EQ(test.statistic, 1891.5);
  EXPECT_NEAR(test.p, 0.19342104215566303, 1e-12);
}

TEST(Wilcoxon, NoDifferencesSayNothing) {
  EXPECT_EQ(wilcoxon(std::vector<double>{}).p, 1);
  EXPECT_EQ(wilcoxon(std::vector<double>(20, 0.0)).p, 1);
  EXPECT_EQ(wilcoxon(std::vector<double>{1, -1}).p, 1);
}

TEST(ZOfP, IsTheQuantileOfBothTails) {
  EXPECT_NEAR(z_of_p(0.05), 1.959963984540054, 1e-12);
  EXPECT_NEAR(z_of_p(0.001), 3.290526731491926, 1e-12);
  EXPECT_EQ(z_of_p(1), 0);
}

TEST(CliffsDelta, IsOneWhereAllOfOneLieAboveTheOther) {
  EXPECT_EQ(cliffs_delta(std::vector<double>{1, 2}, std::vector<double>{3, 4, 5}), 1);
  EXPECT_EQ(cliffs_delta(std::vector<double>{3, 4, 5}, std::vector<double>{1, 2}), -1);
  EXPECT_EQ(cliffs_delta(std::vector<double>{1, 2}, std::vector<double>{1, 2}), 0);
  EXPECT_DOUBLE_EQ(cliffs_delta(std::vector<double>{1, 2, 2, 3, 5}, std::vector<double>{2, 3, 4, 4, 5, 6}),
                   2 * 23 / 30.0 - 1);
}

TEST(RatioOfMedians, HasTheTrueRatioInItsIntervalAboutAsOftenAsItSays) {
  Random random(6);
  int held = 0;
  constexpr int trials = 100;
  for (int i = 0; i < trials; ++i) {
    const Ratio ratio = ratio_of_medians(normal(40, 100, random), normal(40, 110, random), 1);
    held += ratio.interval->low <= 1.1 && 1.1 <= ratio.interval->high ? 1 : 0;
  }
  EXPECT_GT(held, trials * 88 / 100);
}

TEST(RatioOfMedians, HasNoIntervalOfTooFewValues) {
  EXPECT_FALSE(ratio_of_medians(steps(5, 1), steps(9, 1), 1).interval);
  EXPECT_EQ(ratio_of_medians(std::vector<double>{2}, std::vector<double>{3}, 1).value, 1.5);
}

// scipy.stats.false_discovery_control([0.01, 0.04, 0.03, 0.005, 0.8])
TEST(BenjaminiHochberg, AgreesWithScipy) {
  const std::vector<double> adjusted = benjamini_hochberg(std::vector<double>{0.01, 0.04, 0.03, 0.005, 0.8});
  const std::vector<double> expected = {0.025, 0.05, 0.05, 0.025, 0.8};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-12) << i;
  EXPECT_TRUE(benjamini_hochberg(std::vector<double>{}).empty());
}

}  // namespace
}  // namespace assay
