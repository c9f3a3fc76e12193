#include "tensor/make_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

namespace assay {
namespace {

std::vector<const BlockFormat*> made_formats() {
  std::vector<const BlockFormat*> formats;
  for (const BlockFormat* format : block_formats()) {
    if (format->can_be_made()) formats.push_back(format);
  }
  return formats;
}

std::vector<float> made_and_read(const BlockFormat& format, const std::vector<float>& x,
                                 ScaleChoice choice = ScaleChoice::least_error) {
  std::vector<std::byte> blocks(static_cast<std::size_t>(format.bytes_of(std::ssize(x))));
  make_blocks(format, x.data(), std::ssize(x), blocks.data(), choice);
  std::vector<float> values(static_cast<std::size_t>(format.values_in(std::ssize(blocks))));
  expand_blocks(format, blocks, values);
  return values;
}

double distance(const std::vector<float>& x, const std::vector<float>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += std::pow(static_cast<double>(x[i]) - static_cast<double>(y[i]), 2);
  return sum;
}

/// Rows as weights are: normal, with heavy tails, all of one sign, one outlier.
std::vector<std::vector<float>> sorts_of_rows(std::int64_t count) {
  Random random(3, 0);
  std::vector<std::vector<float>> rows(4, std::vector<float>(static_cast<std::size_t>(count)));
  for (std::size_t i = 0; i < rows[0].size(); ++i) {
    const auto normal = static_cast<float>(random.next_normal());
    rows[0][i] = 0.02F * normal;
    rows[1][i] = 0.02F * normal * normal * normal;
    rows[2][i] = 0.3F + 0.02F * normal;
    rows[3][i] = i % 97 == 0 ? 2.0F : 0.02F * normal;
  }
  return rows;
}

TEST(MakeBlocks, TheSearchIsNeverWorseThanThePlainMaximumAndBetterForFourBits) {
  for (const BlockFormat* format : made_formats()) {
    const std::vector<std::vector<float>> rows = sorts_of_rows(format->elements * 24);
    for (const std::vector<float>& x : rows) {
      double searched_sum = 0;
      double plain_sum = 0;
      for (auto group = x.begin(); group != x.end(); group += format->elements) {
        const std::vector<float> one(group, group + format->elements);
        const double searched = distance(one, made_and_read(*format, one));
        const double plain = distance(one, made_and_read(*format, one, ScaleChoice::maximum));
        EXPECT_LE(searched, plain * (1 + 1e-5)) << format->name;
        searched_sum += searched;
        plain_sum += plain;
      }
      const bool is_normal = &x == rows.data();
      const bool has_four_bits = format->maker != nullptr && format->maker->highest - format->maker->lowest < 16;
      EXPECT_LE(searched_sum, (is_normal && has_four_bits ? 0.95 : 1 + 1e-5) * plain_sum) << format->name;
    }
  }
}

/// The least error of a group with codes of -8 to 7, over 720 scales of either sign, each fitted to the codes it gives.
double least_error(const std::vector<float>& group) {
  double largest = 0;
  double least = 0;
  for (const float x : group) {
    largest = std::max(largest, std::abs(static_cast<double>(x)));
    least += static_cast<double>(x) * static_cast<double>(x);
  }
  for (int step = -360; step <= 360; ++step) {
    const double scale = (step < 0 ? -0.45 + step * 0.0025 : 0.45 + step * 0.0025) * largest / 8;
    double products = 0;
    double squares = 0;
    double own = 0;
    for (const float x : group) {
      const double code = std::clamp(std::nearbyint(static_cast<double>(x) / scale), -8.0, 7.0);
      products += static_cast<double>(x) * code;
      squares += code * code;
      own += static_cast<double>(x) * static_cast<double>(x);
    }
    if (squares > 0) least = std::min(least, own - products * products / squares);
  }
  return least;
}

TEST(MakeBlocks, TheSearchComesWithinAPercentOfTheLeastErrorThereIs) {
  for (const BlockFormat* format : {&blocks::q4_0, &blocks::int4_g128}) {
    for (const std::size_t sort : {0U, 1U}) {
      const std::vector<float> x = sorts_of_rows(format->elements * 24)[sort];
      double found = 0;
      double least = 0;
      for (auto group = x.begin(); group != x.end(); group += format->elements) {
        const std::vector<float> one(group, group + format->elements);
        found += distance(one, made_and_read(*format, one));
        least += least_error(one);
      }
      EXPECT_LE(found, 1.01 * least) << format->name << ", rows of sort " << sort;
    }
  }
}

/// Lloyd's bound for 16 equal steps over normal values is 20.2 dB (Max 1960, table II); a scale for 32 of them comes
/// near it, since it follows their own range.
TEST(MakeBlocks, SignalToNoiseOfNormalWeightsIsWhatTheBitsGive) {
  const std::vector<float> x = sorts_of_rows(32 * 4096)[0];
  double signal = 0;
  for (const float value : x) signal += static_cast<double>(value) * static_cast<double>(value);
  const auto decibels = [&](const BlockFormat& format) {
    return 10 * std::log10(signal / distance(x, made_and_read(format, x)));
  };
  EXPECT_GT(decibels(blocks::q4_0), 21.0);
  EXPECT_GT(decibels(blocks::q4_0), decibels(blocks::int4_g128)) << "finer groups follow closer";
  EXPECT_GT(decibels(blocks::int4z_g128), decibels(blocks::int4_g128) - 0.5);
  EXPECT_GT(decibels(blocks::q8_0), 44.0);
  EXPECT_GT(decibels(blocks::q4_1), decibels(blocks::q4_k)) << "minima of 16 bits follow closer than those of 6";
  EXPECT_GT(decibels(blocks::q4_k), decibels(blocks::q4_0) + 1) << "minima follow closer";
  EXPECT_GT(decibels(blocks::q5_k), decibels(blocks::q4_k) + 5.5) << "a bit more is 6 dB";
  EXPECT_GT(decibels(blocks::q6_k), decibels(blocks::q5_k) + 5.5);
}

/// Weights that are small in one group and large in another of the same super-block.
TEST(MakeBlocks, GroupsOfASuperBlockHaveScalesOfTheirOwn) {
  std::vector<float> x = sorts_of_rows(256 * 32)[0];
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= i / 32 % 8 == 3 ? 1.0F : 0.2F;
  for (const BlockFormat* format : {&blocks::q4_k, &blocks::q5_k, &blocks::q6_k}) {
    const std::vector<float> values = made_and_read(*format, x);
    double small_signal = 0;
    double small_noise = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i / 32 % 8 == 3) continue;
      small_signal += std::pow(static_cast<double>(x[i]), 2);
      small_noise += std::pow(static_cast<double>(x[i] - values[i]), 2);
    }
    EXPECT_LT(small_noise, 0.01 * small_signal) << format->name;
  }
}

TEST(MakeBlocks, AZeroPointPaysForWeightsOfOneSign) {
  const std::vector<float> x = sorts_of_rows(128 * 64)[2];
  EXPECT_LT(distance(x, made_and_read(blocks::int4z_g128, x)), distance(x, made_and_read(blocks::int4_g128, x)));
}

/// Minima of either sign: what Q4_1 holds does not change where all values are moved by as much.
TEST(MakeBlocks, AMinimumFollowsWeightsFarFromZero) {
  const std::vector<float> x = sorts_of_rows(32 * 64)[0];
  for (const float moved : {-0.9F, 0.9F}) {
    std::vector<float> y = x;
    for (float& value : y) value += moved;
    EXPECT_LT(distance(y, made_and_read(blocks::q4_1, y)), 1.1 * distance(x, made_and_read(blocks::q4_1, x))) << moved;
  }
}

TEST(MakeBlocks, WhatFillsUpTheLastBlockIsZero) {
  for (const BlockFormat* format : made_formats()) {
    const std::vector<float> x(static_cast<std::size_t>(format->elements + 5), 0.25F);
    const std::vector<float> values = made_and_read(*format, x);
    ASSERT_EQ(std::ssize(values), 2 * format->elements);
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], i < x.size() ? 0.25F : 0, 0.01) << format->name << " " << i;
  }
}

TEST(MakeBlocks, ZerosStayZerosAndTinyOnesDoNotBecomeNumbersOfAnotherSize) {
  for (const BlockFormat* format : made_formats()) {
    for (const float size : {0.0F, 1e-40F, 1e-30F, 1e-9F}) {
      const std::vector<float> x(static_cast<std::size_t>(format->elements), size);
      for (const float value : made_and_read(*format, x)) {
        EXPECT_TRUE(std::isfinite(value)) << format->name;
        EXPECT_LE(std::abs(value), 2 * size) << format->name;
      }
    }
  }
}

TEST(MakeBlocks, AGroupThatIsNotFiniteIsNone) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    for (const BlockFormat* format : made_formats()) {
      std::vector<float> x(static_cast<std::size_t>(2 * format->elements), 1.0F);
      x[3] = bad;
      const std::vector<float> values = made_and_read(*format, x);
      EXPECT_TRUE(std::all_of(values.begin(), values.begin() + format->elements, [](float v) { return std::isnan(v); }))
          << format->name;
      EXPECT_TRUE(std::all_of(values.begin() + format->elements, values.end(), [](float v) {
        return std::abs(v - 1) < 0.01F;
      })) << format->name;
    }
  }
}

TEST(MakeBlocks, ValuesBeyondAnF16ScaleAreAtItsEnd) {
  const std::vector<float> x(32, 1e30F);
  for (const float value : made_and_read(blocks::q4_0, x)) EXPECT_GT(value, 4e5F);
}

}  // namespace
}  // namespace assay
