#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "hardware/machine.h"
#include "kernels/cpu/micro/stripes.h"

namespace assay::cpu::micro {
namespace {

using Stretch = std::array<float, stretch_values>;

/// A stretch as pieces, and what it stands for.
struct Split {
  std::array<std::byte, pieces_bytes> pieces{};
  float scale = 0;
  std::array<float, 2> sums{};
  std::array<std::int32_t, 4> starts{};

  std::int64_t whole(std::size_t i) const {
    const auto piece = [&](std::size_t at) {
      return std::int64_t{static_cast<std::int8_t>(pieces[at * stretch_values + i])};
    };
    return piece(0) * 65536 + piece(1) * 256 + piece(2);
  }
  double value(std::size_t i) const { return static_cast<double>(scale) * static_cast<double>(whole(i)); }
};

Split split_up(const Stretch& x, std::int64_t parts, int zero) {
  Split split;
  split_floats_avx2(x.data(), 1,
                    {.pieces = split.pieces.data(),
                     .scales = &split.scale,
                     .sums = split.sums.data(),
                     .starts = split.starts.data(),
                     .parts = parts,
                     .zero = zero});
  return split;
}

class SplitFloats : public testing::Test {
 protected:
  void SetUp() override {
    if (!read_machine_facts().isa.avx2) GTEST_SKIP() << "no AVX2 here";
  }
};

TEST_F(SplitFloats, LeavesErrorsOfTheLargestValueAlone) {
  for (const float size : {1e-30F, 1e-5F, 1.0F, 3e4F, 1e37F}) {
    Stretch x;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = size * std::sin(static_cast<float>(i * i) + 0.5F);
    x[7] = 0x1.fffffep0F * size;
    const Split split = split_up(x, 1, 0);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(split.value(i), x[i], 0x1p-22 * 2 * size) << i;
  }
}

TEST_F(SplitFloats, KeepsWhatHas16Bits) {
  Stretch x;
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = std::ldexp(129.0F + static_cast<float>(i), -static_cast<int>(i) % 14) * (i % 3 == 0 ? -1 : 1);
  const Split split = split_up(x, 1, 0);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(split.value(i), x[i]) << i;
}

TEST_F(SplitFloats, TellsOfEachPartWhatItsZeroTakesOff) {
  Stretch x;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 5.25F;
  for (const std::int64_t parts : {1, 2}) {
    const Split split = split_up(x, parts, 32);
    for (std::int64_t part = 0; part < parts; ++part) {
      const auto at = static_cast<std::size_t>(part);
      const auto width = x.size() / static_cast<std::size_t>(parts);
      std::int64_t sum = 0;
      for (std::size_t i = at * width; i < (at + 1) * width; ++i) sum += split.whole(i);
      EXPECT_EQ(std::int64_t{split.starts[2 * at]} * 256 + split.starts[2 * at + 1], -32 * sum);
      EXPECT_FLOAT_EQ(split.sums[at], split.scale * static_cast<float>(sum));
    }
  }
}

TEST_F(SplitFloats, AValueThatIsNotFiniteMakesItsStretchNaN) {
  for (const float value : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Stretch x{};
    x[11] = -value;
    EXPECT_TRUE(std::isnan(split_up(x, 2, 8).scale));
  }
  const Stretch zeros{};
  EXPECT_EQ(split_up(zeros, 2, 8).value(3), 0);
}

/// The largest sums that there can be: every code the least or the greatest, every x the largest.
TEST_F(SplitFloats, SumsOfTheGreatestCodesDoNotOverflow) {
  for (const float sign : {1.0F, -1.0F}) {
    Stretch x;
    std::fill(x.begin(), x.end(), sign * 0x1.fffffep0F);
    const Split split = split_up(x, 1, 8);
    const StripeLayout layout = *stripe_layout(blocks::q4_0);
    const StripeShape shape = stripe_shape(blocks::q4_0, layout);
    for (const unsigned code : {0U, 15U}) {
      alignas(64) std::array<std::byte, 2048> stripe{};
      for (std::size_t i = 0; i < stripe_rows; ++i) {
        stripe[2 * i] = std::byte{0x00};
        stripe[2 * i + 1] = std::byte{0x3C};  // 1 in f16
      }
      std::fill_n(stripe.begin() + shape.header_bytes, layout.code_bytes(), static_cast<std::byte>(code * 17));
      alignas(64) std::array<float, stripe_rows> c{};
      multiply_stripes_pieces_avx2({.shape = shape,
                                    .panel = stripe.data(),
                                    .stretches = 1,
                                    .x = split.pieces.data(),
                                    .x_stride = pieces_bytes,
                                    .x_scale = &split.scale,
                                    .x_sums = split.sums.data(),
                                    .starts = split.starts.data(),
                                    .side_stride = 1,
                                    .c = c.data()},
                                   1);
      const float expected = sign * 2.0F * 32 * (static_cast<float>(code) - 8);
      for (const float sum : c) EXPECT_NEAR(sum, expected, 1e-3F);
    }
  }
}

}  // namespace
}  // namespace assay::cpu::micro
