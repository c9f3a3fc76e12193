#include "quality/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

/// The sum of the lower tail by exact integers, n <= 60.
double two_sided_by_integers(int better, int worse) {
  const int n = better + worse;
  long double choose = 1;
  long double tail = 0;
  for (int k = 0; k <= std::min(better, worse); ++k) {
    tail += choose;
    choose = choose * (n - k) / (k + 1);
  }
  return std::min(1.0, static_cast<double>(2 * tail / std::pow(2.0L, n)));
}

TEST(McNemar, IsTheExactBinomialTest) {
  EXPECT_NEAR(mcnemar_exact(22, 15), 0.324, 5e-4);
  EXPECT_NEAR(mcnemar_exact(0, 5), 2.0 / 32, 1e-12);
  EXPECT_NEAR(mcnemar_exact(1, 9), 2 * (1 + 10) / 1024.0, 1e-12);
  EXPECT_NEAR(mcnemar_exact(2, 6), 2 * (1 + 8 + 28) / 256.0, 1e-12);
  EXPECT_NEAR(mcnemar_exact(0, 1), 1, 1e-12);
  for (int better = 0; better <= 30; ++better) {
    for (int worse = 0; worse <= 30; ++worse)
      EXPECT_NEAR(mcnemar_exact(better, worse), two_sided_by_integers(better, worse), 1e-12) << better << " " << worse;
  }
}

TEST(McNemar, IsOneWhereNothingChangedOrBothWaysAlike) {
  EXPECT_EQ(mcnemar_exact(0, 0), 1);
  EXPECT_EQ(mcnemar_exact(7, 7), 1);
}

TEST(McNemar, IsSymmetricAndHoldsForThousandsOfChanges) {
  EXPECT_EQ(mcnemar_exact(15, 22), mcnemar_exact(22, 15));
  // 4,900 of 10,000: z = 1.99 with the correction for continuity, p = 0.0466 by the normal distribution.
  EXPECT_NEAR(mcnemar_exact(4900, 5100), 0.0466, 5e-4);
  EXPECT_GE(mcnemar_exact(0, 5000), 0);
}

TEST(Figures, ArePerplexityAndAccuracy) {
  QualityRows quality;
  quality.nll = {std::log(2.0), std::log(8.0)};
  quality.correct = {1, 0};
  const QualityFigures f = figures(quality);
  EXPECT_EQ(f.scored, 2);
  EXPECT_NEAR(f.perplexity, 4, 1e-12);
  EXPECT_EQ(f.correct, 1);
  EXPECT_EQ(f.accuracy, 0.5);
}

TEST(Figures, OfNothingAreZeroRowsNotANumber) {
  const QualityFigures f = figures({});
  EXPECT_EQ(f.scored, 0);
  EXPECT_EQ(f.accuracy, 0);
  EXPECT_EQ(f.mean_nll, 0);
}

TEST(Compare, TheLossIsPairedAndItsErrorClusteredByWindow) {
  QualityRows baseline;
  baseline.nll = {1, 5, 2, 8};
  baseline.correct = {1, 0, 1, 0};
  baseline.windows = {1, 1, 1, 1};
  QualityRows mine;
  mine.nll = {1.5, 5.5, 2.25, 8.75};  // differences 0.5, 0.5, 0.25, 0.75: mean 0.5, deviation sqrt(0.125 / 3)
  mine.correct = {1, 1, 1, 1};
  mine.windows = {1, 1, 1, 1};
  const QualityChange change = compare(baseline, mine);
  EXPECT_DOUBLE_EQ(change.delta_nll, 0.5);
  EXPECT_DOUBLE_EQ(*change.delta_nll_se, std::sqrt(0.125 / 3) / 2) << "windows of one id: as if independent";
  EXPECT_NEAR(change.delta_nll_interval->high, 0.5 + 3.182 * *change.delta_nll_se, 0.01 * *change.delta_nll_se * 3.2);
  EXPECT_EQ(change.accuracy_change, 0.5);
  EXPECT_EQ(change.mcnemar_p, 0.5);
}

/// A window's ids that all change alike are one observation, however many they are.
TEST(Compare, IdsThatChangeTogetherCountOnce) {
  QualityRows baseline;
  QualityRows mine;
  constexpr double shifts[] = {0.1, -0.2, 0.3, 0.2, -0.1};
  for (const double shift : shifts) {
    for (int i = 0; i < 100; ++i) {
      baseline.nll.push_back(3);
      mine.nll.push_back(3 + shift);
    }
    baseline.windows.push_back(100);
  }
  mine.windows = baseline.windows;
  const QualityChange change = compare(baseline, mine);
  double squares = 0;
  for (const double shift : shifts) squares += (shift - 0.06) * (shift - 0.06);
  EXPECT_NEAR(change.delta_nll, 0.06, 1e-12);
  EXPECT_NEAR(*change.delta_nll_se, std::sqrt(squares / 4 / 5), 1e-12);
  mine.windows = baseline.windows = {200, 200, 100};
  EXPECT_FALSE(compare(baseline, mine).delta_nll_interval.has_value()) << "three windows tell nothing of windows";
}

TEST(Compare, FewRowsWithoutAChangeLeaveRoomForOne) {
  QualityRows ten;
  ten.correct.assign(10, 1);
  EXPECT_GT(compare(ten, ten).accuracy_interval.high, 0.1);
  QualityRows thousand;
  thousand.correct.assign(1000, 1);
  EXPECT_LT(compare(thousand, thousand).accuracy_interval.high, 0.003);
  QualityRows worse = thousand;
  for (std::size_t i = 0; i < 30; ++i) worse.correct[i] = 0;
  EXPECT_LT(compare(thousand, worse).accuracy_interval.high, -0.015);
}

TEST(Compare, EqualRunsChangeNothing) {
  QualityRows baseline;
  baseline.nll = {1, 2, 3};
  baseline.correct = {1, 0, 1};
  baseline.kl = {0, 0, 0};
  baseline.agrees = {1, 1, 1};
  const QualityChange change = compare(baseline, baseline);
  EXPECT_EQ(change.delta_nll, 0);
  EXPECT_FALSE(change.delta_nll_se.has_value()) << "no windows";
  EXPECT_EQ(change.mcnemar_p, 1);
  EXPECT_EQ(change.kl_mean, 0);
  EXPECT_FALSE(change.kl_p999.has_value());
  EXPECT_EQ(change.top1_agreement, 1);
  EXPECT_EQ(change.largest_difference, 0);
}

TEST(Compare, OneRowHasNoStandardErrorAndNoneHasNoFigures) {
  QualityRows one;
  one.nll = {2};
  one.correct = {1};
  EXPECT_FALSE(compare(one, one).delta_nll_se.has_value());
  EXPECT_EQ(compare({}, {}).mcnemar_p, 1);
  EXPECT_FALSE(compare({}, {}).kl_p999.has_value());
}

/// The 99.9th percentile of 1 .. n.
std::optional<double> p999_of(int n) {
  QualityRows mine;
  for (int i = n; i >= 1; --i) mine.kl.push_back(static_cast<float>(i));
  return compare({}, mine).kl_p999;
}

TEST(Compare, PercentileIsTheNearestRank) {
  EXPECT_FALSE(p999_of(999).has_value()) << "it would be their largest";
  EXPECT_EQ(p999_of(1000), 999);    // exactly 999
  EXPECT_EQ(p999_of(1001), 1000);   // 999.999
  EXPECT_EQ(p999_of(10000), 9990);  // exactly 9,990
}

TEST(Compare, LargestDifferenceIsRelativeToTheBaselinesLargestLogit) {
  QualityRows mine;
  mine.kl = {0.5F, 0.25F};
  mine.agrees = {1, 0};
  mine.largest_difference = 3;
  mine.largest_logit = 12;
  const QualityChange change = compare({}, mine);
  EXPECT_EQ(change.largest_difference, 0.25);
  EXPECT_EQ(change.top1_agreement, 0.5);
  EXPECT_EQ(change.kl_mean, 0.375);
}

TEST(Scores, PearsonIsOneOfLinesAndDoesNotExistWithoutVariance) {
  const std::vector<double> x = {1, 2, 4, 8};
  const std::vector<double> line = {-3, -5, -9, -17};  // -1 - 2 x
  const std::vector<double> constant = {0.1, 0.1, 0.1, 0.1};
  EXPECT_DOUBLE_EQ(*pearson(x, x), 1);
  EXPECT_DOUBLE_EQ(*pearson(x, line), -1);
  EXPECT_FALSE(pearson(x, constant).has_value());
  EXPECT_FALSE(pearson(constant, x).has_value());
  EXPECT_FALSE(pearson(std::vector<double>{1}, std::vector<double>{2}).has_value());
  EXPECT_NEAR(*pearson(std::vector<double>{1, 2, 3, 4, 5}, std::vector<double>{2, 1, 4, 3, 5}), 0.8, 1e-12);
}

TEST(Scores, EqualValuesShareTheMeanOfTheirRanks) {
  EXPECT_EQ(ranks(std::vector<double>{5, 1, 5, 3, 5}), (std::vector<double>{4, 1, 4, 2, 4}));
  EXPECT_TRUE(ranks(std::vector<double>{}).empty());
}

QualityRows scores(std::vector<float> values, std::int64_t outputs = 1) {
  QualityRows quality;
  quality.scores = std::move(values);
  quality.outputs = outputs;
  return quality;
}

TEST(Scores, AreComparedAsNumbers) {
  const ScoreChange same = compare_scores(scores({1, 2, 3}), scores({1, 2, 3}));
  EXPECT_EQ(same.rows, 3);
  EXPECT_EQ(same.pearson, 1.0);
  EXPECT_EQ(same.spearman, 1.0);
  EXPECT_EQ(same.largest_difference, 0);
  // Every order is kept, the distances are not: ranks do not see it.
  const ScoreChange bent = compare_scores(scores({1, 2, 3}), scores({1, 2, 30}));
  EXPECT_EQ(bent.spearman, 1.0);
  EXPECT_LT(*bent.pearson, 0.9);
  EXPECT_EQ(bent.largest_difference, 27);
}

TEST(Scores, WithoutVarianceHaveNoCorrelationButADifference) {
  const ScoreChange constant = compare_scores(scores({1, 2, 3}), scores({2, 2, 2}));
  EXPECT_FALSE(constant.pearson || constant.spearman);
  EXPECT_EQ(constant.largest_difference, 1);
  EXPECT_NE(constant.undefined.find("its scores are all equal"), std::string::npos);
  EXPECT_NE(compare_scores(scores({2, 2}), scores({1, 2})).undefined.find("baseline's"), std::string::npos);
  EXPECT_NE(compare_scores(scores({2}), scores({1})).undefined.find("one row"), std::string::npos);
}

TEST(Scores, OfSeveralOutputsTheLowestCorrelationIsTold) {
  const ScoreChange change = compare_scores(scores({1, 1, 2, 2, 3, 3}, 2), scores({1, 3, 2, 2, 3, 1}, 2));
  EXPECT_EQ(change.rows, 3);
  EXPECT_DOUBLE_EQ(*change.pearson, -1);
}

}  // namespace
}  // namespace assay
