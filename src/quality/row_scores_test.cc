#include "quality/row_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

namespace assay {
namespace {

std::vector<float> random_row(std::size_t width, double scale, std::uint64_t seed) {
  Random random(seed, 1);
  std::vector<float> row(width);
  for (float& value : row) value = static_cast<float>(scale * (random.next_uniform() - 0.5));
  return row;
}

long double exact_log_sum(const std::vector<float>& row) {
  const long double highest = *std::max_element(row.begin(), row.end());
  long double sum = 0;
  for (const float value : row) sum += std::exp(static_cast<long double>(value) - highest);
  return std::log(sum) + highest;
}

long double exact_kl(const std::vector<float>& p, const std::vector<float>& q) {
  const long double p_log_sum = exact_log_sum(p);
  const long double q_log_sum = exact_log_sum(q);
  long double kl = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    kl += std::exp(p[i] - p_log_sum) * ((p[i] - p_log_sum) - (q[i] - q_log_sum));
  return kl;
}

Divergence divergence(const std::vector<float>& p, const std::vector<float>& q) {
  return diverge_row({p, score_row(p)}, {q, score_row(q)});
}

TEST(RowScore, AgreesWithExtendedPrecisionAtEveryWidthAndScale) {
  for (const std::size_t width : {1U, 2U, 3U, 7U, 8U, 9U, 15U, 16U, 17U, 63U, 1000U, 49152U}) {
    for (const double scale : {1e-3, 1.0, 30.0, 3000.0}) {
      const std::vector<float> row = random_row(width, scale, width);
      const auto exact = static_cast<double>(exact_log_sum(row));
      EXPECT_NEAR(score_row(row).log_sum, exact, 5e-14 * std::max(1.0, std::abs(exact))) << width << " " << scale;
    }
  }
}

TEST(RowScore, BestIsTheFirstLargestLogit) {
  for (const std::size_t width : {1U, 5U, 16U, 33U, 1000U}) {
    std::vector<float> row = random_row(width, 1, 3);
    const std::size_t at = width * 2 / 3;
    row[at] = 2;
    row.back() = 2;
    EXPECT_EQ(score_row(row).best, static_cast<std::int64_t>(at)) << width;
  }
}

TEST(RowScore, OfNotANumberOrInfinityIsNotANumber) {
  for (const float odd : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    for (const std::size_t at : {0U, 8U, 20U}) {
      std::vector<float> row = random_row(21, 1, 5);
      row[at] = odd;
      EXPECT_TRUE(std::isnan(score_row(row).log_sum)) << odd << " at " << at;
    }
  }
}

TEST(Divergence, OfARowFromItselfIsExactlyZero) {
  const std::vector<float> p = random_row(49153, 20, 1);
  EXPECT_EQ(divergence(p, p).kl, 0);
  EXPECT_EQ(divergence(p, p).largest_difference, 0);
}

TEST(Divergence, IsTheFigureByHand) {
  // p = 1/2, 1/2 and q = 1/4, 3/4: ln 2 - ln 3 / 2
  const std::vector<float> p = {1, 1};
  const std::vector<float> q = {0, std::log(3.0F)};
  EXPECT_NEAR(divergence(p, q).kl, std::log(2.0) - std::log(3.0) / 2, 1e-7);
  EXPECT_FLOAT_EQ(static_cast<float>(divergence(p, q).largest_difference), 1);
  EXPECT_EQ(divergence(q, p).largest_logit, static_cast<double>(std::log(3.0F)));
}

TEST(Divergence, DoesNotDependOnAnOffsetOfAllLogits) {
  const std::vector<float> p = {1, 2, 3, -4, 0.5F};
  std::vector<float> q = p;
  for (float& value : q) value += 16;
  EXPECT_NEAR(divergence(p, q).kl, 0, 1e-14);
}

TEST(Divergence, OfNearlyEqualRowsKeepsItsDigits) {
  for (const double change : {1.0, 1e-2, 1e-4}) {
    const std::vector<float> p = random_row(49152, 10, 7);
    std::vector<float> q = p;
    const std::vector<float> noise = random_row(q.size(), change, 8);
    for (std::size_t i = 0; i < q.size(); ++i) q[i] += noise[i];
    const auto exact = static_cast<double>(exact_kl(p, q));
    EXPECT_GT(exact, 0);
    EXPECT_NEAR(divergence(p, q).kl, exact, 1e-3 * exact + 1e-13) << change;
  }
}

TEST(Divergence, IsNeverNegative) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<float> p = random_row(33, 10, seed);
    std::vector<float> q = p;
    q[seed % q.size()] = std::nextafter(q[seed % q.size()], 100.0F);
    EXPECT_GE(divergence(p, q).kl, 0) << seed;
  }
}

TEST(HashRow, ChangesWithEveryBitAndThePlaceOfValues) {
  for (const std::size_t width : {1U, 2U, 3U, 16U, 17U, 40U}) {
    const std::vector<float> row = random_row(width, 1, 9);
    EXPECT_EQ(hash_row(row), hash_row(std::vector<float>(row)));
    for (std::size_t i = 0; i < width; ++i) {
      std::vector<float> other = row;
      other[i] = std::nextafter(other[i], 2.0F);
      EXPECT_NE(hash_row(row), hash_row(other)) << width << " " << i;
      if (i == 0) continue;
      other = row;
      std::swap(other[0], other[i]);
      EXPECT_NE(hash_row(row), hash_row(other)) << width << " " << i;
    }
  }
}

}  // namespace
}  // namespace assay
