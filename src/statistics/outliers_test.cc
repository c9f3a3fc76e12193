#include "statistics/outliers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "statistics/student.h"

namespace assay {
namespace {

TEST(Student, TailsAgreeWithTables) {
  // Abramowitz & Stegun 1972, table 26.10.
  EXPECT_NEAR(student_bound(0.05, 1), 12.706, 5e-4);
  EXPECT_NEAR(student_bound(0.05, 2), 4.303, 5e-4);
  EXPECT_NEAR(student_bound(0.01, 5), 4.032, 5e-4);
  EXPECT_NEAR(student_bound(0.001, 10), 4.587, 5e-4);
  EXPECT_NEAR(student_bound(0.05, 120), 1.980, 5e-4);
  EXPECT_NEAR(student_tail(1, 1), 0.5, 1e-12) << "Cauchy's quartile";
  EXPECT_EQ(student_tail(0, 7), 1);
  for (const double degrees : {1.0, 2.5, 6.0, 40.0}) {
    for (const double p : {0.9, 0.2, 1e-3, 1e-8})
      EXPECT_NEAR(student_tail(student_bound(p, degrees), degrees) / p, 1, 1e-6) << degrees << " " << p;
  }
}

std::vector<double> alike(std::size_t count, Random& random) {
  std::vector<double> values(count);
  for (double& value : values) value = random.next_normal();
  return values;
}

bool any_apart(const std::vector<double>& values) {
  const std::vector<Deviation> all = deviations(values);
  return std::any_of(all.begin(), all.end(), [](const Deviation& one) { return one.stands_apart; });
}

TEST(Outliers, AlikeValuesSeldomStandApart) {
  constexpr int trials = 2000;
  for (const std::size_t count : {3U, 4U, 5U, 6U, 8U, 12U, 20U}) {
    Random random(count);
    int alarms = 0;
    for (int trial = 0; trial < trials; ++trial) alarms += any_apart(alike(count, random)) ? 1 : 0;
    EXPECT_LE(alarms, 0.05 * trials + 3 * std::sqrt(0.05 * 0.95 * trials)) << count;
  }
}

TEST(Outliers, OneOfFewAndSeveralOfManyAreFound) {
  Random random(1);
  std::vector<double> values = alike(8, random);
  values[2] = 12;
  values[5] = 14;
  values[7] = -15;
  const std::vector<Deviation> all = deviations(values);
  ASSERT_EQ(all.size(), 8U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].stands_apart, i == 2 || i == 5 || i == 7) << i;
    EXPECT_LE(all[i].interval.low, all[i].value);
    EXPECT_EQ(all[i].p < 0.05, all[i].interval.low > 0 || all[i].interval.high < 0) << i;
  }
  const std::vector<double> three = {0.0, 0.005, 0.3};
  EXPECT_TRUE(deviations(three)[2].stands_apart);
  EXPECT_FALSE(deviations(three)[0].stands_apart);
  EXPECT_TRUE(deviations(std::vector<double>{1, 2}).empty());
  EXPECT_FALSE(any_apart({1, 1, 1, 1})) << "nothing differs";
}

}  // namespace
}  // namespace assay
