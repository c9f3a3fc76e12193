#include "studies/autocast/norm_sensitivity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

TEST(NormSensitivity, FormatsAreThoseOfTheStandards) {
  const FormatRow f16 = format_row(DType::f16);
  EXPECT_EQ(f16.bits, 16);
  EXPECT_EQ(f16.largest, 65504);
  EXPECT_EQ(f16.epsilon, std::ldexp(1, -10));
  EXPECT_EQ(f16.smallest_normal, std::ldexp(1, -14));
  EXPECT_EQ(f16.smallest_subnormal, std::ldexp(1, -24));
  const FormatRow bf16 = format_row(DType::bf16);
  EXPECT_EQ(bf16.bits, 16);
  EXPECT_EQ(bf16.epsilon, std::ldexp(1, -7));
  EXPECT_EQ(bf16.smallest_normal, std::ldexp(1, -126));
  const FormatRow f32 = format_row(DType::f32);
  using Limits = std::numeric_limits<float>;
  EXPECT_EQ(f32.bits, 32);
  EXPECT_EQ(f32.epsilon, Limits::epsilon());
  EXPECT_EQ(f32.largest, Limits::max());
  EXPECT_EQ(f32.smallest_normal, Limits::min());
  EXPECT_EQ(f32.smallest_subnormal, Limits::denorm_min());
}

TEST(NormSensitivity, SquaresOverflowFrom256InF16) {
  EXPECT_EQ(first_overflowing_square(DType::f16), 256);
  EXPECT_GT(first_overflowing_square(DType::bf16), 1e19);
  EXPECT_TRUE(std::isinf(round_to(DType::f16, 256.0F * 256.0F)));
  EXPECT_FALSE(std::isinf(round_to(DType::f16, 255.875F * 255.875F))) << "the f16 number below";
}

TEST(NormSensitivity, RmsNormOverflowsWhereLayerNormDoesNot) {
  int overflows = 0;
  for (const NormRow& row : norm_rows(1)) {
    EXPECT_FALSE(row.squares_overflow_in_layer_norm) << "distances from the mean are small";
    EXPECT_EQ(row.squares_overflow_in_rms_norm, row.dtype == DType::f16 && row.mean >= 300) << row.mean;
    overflows += row.squares_overflow_in_rms_norm ? 1 : 0;
  }
  EXPECT_EQ(overflows, 2);
}

TEST(NormSensitivity, RsqrtAmplifiesTheErrorOfASmallVariance) {
  for (const RsqrtRow& row : rsqrt_rows(1e-5)) {
    const double step = 1e-4 * row.variance;
    const auto exact = [](double v) { return 1 / std::sqrt(v + 1e-5); };
    const double slope = (exact(row.variance - step) - exact(row.variance + step)) / (2 * step);
    EXPECT_NEAR(row.amplification, slope, 1e-5 * slope) << row.variance;
    if (row.dtype == DType::f16 && row.variance == 1e-8) {
      EXPECT_EQ(row.stored, 0);
      EXPECT_TRUE(std::isinf(row.without_epsilon));
    }
    if (row.dtype == DType::bf16) {
      EXPECT_LT(row.without_epsilon, 0.01) << "bf16 has the range";
    }
  }
}

TEST(NormSensitivity, AnEpsilonOf1e5IsSubnormalInF16Alone) {
  for (const EpsilonRow& row : epsilon_rows()) {
    if (row.epsilon == 1e-5) {
      EXPECT_EQ(row.subnormal, row.dtype == DType::f16);
    }
    if (row.dtype == DType::f16 && row.epsilon < 2e-8) {
      EXPECT_EQ(row.stored, 0) << row.epsilon;
    }
    if (row.dtype != DType::f16) {
      EXPECT_LT(row.relative_error, 0.004) << row.epsilon;
    }
  }
}

TEST(NormSensitivity, Bf16AddsWorseThanF16AndBothWorseThanF32) {
  const std::vector<WidthRow> rows = width_rows(1);
  ASSERT_EQ(rows.size(), 15U);
  for (std::size_t i = 0; i < rows.size(); i += 3) {
    EXPECT_LT(rows[i].variance_error, rows[i + 1].variance_error) << "f32 below f16 at " << rows[i].width;
    EXPECT_LT(rows[i + 1].variance_error, rows[i + 2].variance_error) << "f16 below bf16 at " << rows[i].width;
  }
  EXPECT_GT(rows.back().variance_error, rows[2].variance_error) << "it grows with the width";
}

TEST(NormSensitivity, NotesSayWhatBf16Cures) {
  std::string all;
  for (const std::string& note : sensitivity_notes(norm_sensitivity(1))) all += note + "\n";
  EXPECT_NE(all.find("overflows in f16 from 256 on"), std::string::npos) << all;
  EXPECT_NE(all.find("is subnormal in f16"), std::string::npos) << all;
  EXPECT_NE(all.find("bf16 does not cure this but worsens it"), std::string::npos) << all;
}

}  // namespace
}  // namespace assay
