#include "statistics/group_sequential.h"

#include <gtest/gtest.h>

#include <cmath>

#include "statistics/two_samples.h"

namespace assay {
namespace {

/// z of five looks after equal numbers of samples.
template <typename Spent>
std::vector<double> bounds_of_five(Spent&& spent) {
  SequentialLevels levels;
  std::vector<double> bounds;
  for (int look = 1; look <= 5; ++look) bounds.push_back(z_of_p(levels.next(20 * look, spent(look / 5.0))));
  return bounds;
}

// DeMets & Lan 1994, table I, two-sided 5 %; the R package ldbounds gives the same.
TEST(SequentialLevels, AgreeWithThePublishedBounds) {
  const std::vector<double> pocock = bounds_of_five([](double share) { return spent_error(0.05, share); });
  const double published[] = {2.4380, 2.4268, 2.4101, 2.3966, 2.3859};
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(pocock[i], published[i], 2e-3) << i;
  // Two one-sided rates of 2.5 %, each spent as 2 - 2 Phi(z(2.5 % / 2) / sqrt(share)).
  const std::vector<double> fleming =
      bounds_of_five([](double share) { return 2 * std::erfc(z_of_p(0.025) / std::sqrt(2 * share)); });
  const double published_fleming[] = {4.8769, 3.3569, 2.6803, 2.2898, 2.0310};
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(fleming[i], published_fleming[i], 2e-3) << i;
}

TEST(SequentialLevels, ASingleLookHasTheWholeRate) {
  SequentialLevels levels;
  EXPECT_NEAR(levels.next(17, 0.05), 0.05, 1e-9);
}

TEST(SequentialLevels, AreNeverBelowBonferronisNorTogetherBelowOneLooks) {
  SequentialLevels levels;
  double before = 0;
  for (const double samples : {10.0, 15.0, 22.0, 33.0, 49.0, 73.0, 109.0, 110.0, 163.0, 163.5}) {
    const double spent = spent_error(0.05, samples / 163.5);
    const double level = levels.next(samples, spent);
    EXPECT_GE(level, (spent - before) * (1 - 1e-9)) << samples;
    EXPECT_LE(level, 0.05);
    before = spent;
  }
}

TEST(SequentialLevels, WhereNothingMayBeSpentNothingIsRejected) {
  SequentialLevels levels;
  EXPECT_LT(levels.next(10, 0), 1e-100);
  EXPECT_NEAR(levels.next(20, 0.05), 0.05, 1e-6);
}

TEST(SpentError, IsNothingAtFirstAndAllAtTheEnd) {
  EXPECT_EQ(spent_error(0.05, 0), 0);
  EXPECT_NEAR(spent_error(0.05, 1), 0.05, 1e-15);
  EXPECT_NEAR(spent_error(0.05, 0.5), 0.05 * std::log(1 + (std::exp(1.0) - 1) / 2), 1e-15);
  EXPECT_NEAR(spent_error(0.05, 7), 0.05, 1e-15);
}

}  // namespace
}  // namespace assay
