#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace assay {
namespace {

/// A 16- or 8-bit float as the standards define it, told independently of the code under test.
struct Format {
  DType dtype;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  double largest;
  std::function<float(std::uint32_t)> widen;
  std::function<std::uint32_t(float)> round;

  std::uint32_t patterns() const { return 1U << (1 + exponent_bits + mantissa_bits); }
  std::uint32_t sign_bit() const { return patterns() / 2; }
};

template <typename T>
Format format_of(DType dtype, int exponent_bits, int mantissa_bits, int bias, double largest, T (*round)(float)) {
  using Bits = decltype(T::bits);
  return {dtype,
          exponent_bits,
          mantissa_bits,
          bias,
          largest,
          [](std::uint32_t bits) { return to_f32(T{static_cast<Bits>(bits)}); },
          [round](float value) -> std::uint32_t { return round(value).bits; }};
}

const std::vector<Format>& formats() {
  static const std::vector<Format> all = {
      format_of(DType::f16, 5, 10, 15, 65504.0, to_f16),
      format_of(DType::bf16, 8, 7, 127, std::ldexp(255.0, 120), to_bf16),
      format_of(DType::e4m3, 4, 3, 7, 448.0, to_e4m3),
      format_of(DType::e5m2, 5, 2, 15, 57344.0, to_e5m2),
  };
  return all;
}

/// The value of a non-negative pattern by the formula of IEEE 754 and OCP, were there no infinities.
double value_by_formula(const Format& format, std::uint32_t pattern) {
  const int exponent = static_cast<int>(pattern >> format.mantissa_bits);
  const int mantissa = static_cast<int>(pattern & ((1U << format.mantissa_bits) - 1));
  const int implicit = exponent == 0 ? 0 : 1 << format.mantissa_bits;
  return std::ldexp(implicit + mantissa, std::max(exponent, 1) - format.bias - format.mantissa_bits);
}

/// Pattern of the largest finite value.
std::uint32_t last_finite(const Format& format) {
  std::uint32_t pattern = format.sign_bit() - 1;
  while (value_by_formula(format, pattern) > format.largest) --pattern;
  return pattern;
}

/// Asserts that `value` rounds to `expected`, and its negative to the same with the sign.
void expect_rounds(const Format& format, float value, std::uint32_t expected) {
  ASSERT_EQ(format.round(value), expected) << name(format.dtype) << " of " << value;
  ASSERT_EQ(format.round(-value), expected | format.sign_bit()) << name(format.dtype) << " of " << -value;
}

float above(float value) {
  return std::nextafter(value, std::numeric_limits<float>::infinity());
}

float below(float value) {
  return std::nextafter(value, -std::numeric_limits<float>::infinity());
}

TEST(SmallFloat, EveryFinitePatternHasTheValueOfTheStandard) {
  for (const Format& format : formats()) {
    ASSERT_EQ(value_by_formula(format, last_finite(format)), format.largest);
    for (std::uint32_t pattern = 0; pattern <= last_finite(format); ++pattern) {
      const double value = value_by_formula(format, pattern);
      ASSERT_EQ(static_cast<double>(format.widen(pattern)), value) << name(format.dtype) << " pattern " << pattern;
      const float negative = format.widen(pattern | format.sign_bit());
      ASSERT_EQ(static_cast<double>(negative), -value);
      ASSERT_TRUE(std::signbit(negative));
    }
  }
}

TEST(SmallFloat, EveryPatternSurvivesTheRoundTrip) {
  for (const Format& format : formats()) {
    const std::uint32_t quiet_bit = 1U << (format.mantissa_bits - 1);
    for (std::uint32_t pattern = 0; pattern < format.patterns(); ++pattern) {
      const float value = format.widen(pattern);
      const std::uint32_t expected = std::isnan(value) ? pattern | quiet_bit : pattern;
      ASSERT_EQ(format.round(value), expected) << name(format.dtype) << " pattern " << pattern;
    }
  }
}

TEST(SmallFloat, NonFinitePatternsAreThoseOfTheStandard) {
  for (const Format& format : formats()) {
    int infinities = 0;
    int nans = 0;
    for (std::uint32_t pattern = 0; pattern < format.patterns(); ++pattern) {
      const float value = format.widen(pattern);
      infinities += std::isinf(value) ? 1 : 0;
      nans += std::isnan(value) ? 1 : 0;
      ASSERT_EQ(std::signbit(value), pattern >= format.sign_bit());
    }
    const bool has_infinity = format.dtype != DType::e4m3;
    EXPECT_EQ(infinities, has_infinity ? 2 : 0) << name(format.dtype);
    EXPECT_EQ(nans, has_infinity ? 2 * ((1 << format.mantissa_bits) - 1) : 2) << name(format.dtype);
  }
  EXPECT_TRUE(std::isnan(to_f32(e4m3{0x7f})));
  EXPECT_TRUE(std::isnan(to_f32(e4m3{0xff})));
  EXPECT_EQ(to_f32(e4m3{0x7e}), 448.0F);
}

TEST(SmallFloat, EveryBoundaryRoundsToTheNearestTiesToEven) {
  for (const Format& format : formats()) {
    for (std::uint32_t pattern = 0; pattern < last_finite(format); ++pattern) {
      const double low = value_by_formula(format, pattern);
      const double high = value_by_formula(format, pattern + 1);
      const auto midpoint = static_cast<float>((low + high) / 2);
      ASSERT_EQ(static_cast<double>(midpoint), (low + high) / 2) << "an f32 holds every midpoint exactly";
      ASSERT_NO_FATAL_FAILURE(expect_rounds(format, below(midpoint), pattern));
      ASSERT_NO_FATAL_FAILURE(expect_rounds(format, midpoint, pattern + (pattern & 1)));
      ASSERT_NO_FATAL_FAILURE(expect_rounds(format, above(midpoint), pattern + 1));
      ASSERT_NO_FATAL_FAILURE(expect_rounds(format, below(static_cast<float>(high)), pattern + 1));
      ASSERT_NO_FATAL_FAILURE(expect_rounds(format, above(static_cast<float>(low)), pattern));
    }
  }
}

TEST(SmallFloat, PastTheLargestValueComesInfinityOrNaN) {
  for (const Format& format : formats()) {
    const std::uint32_t last = last_finite(format);
    const std::uint32_t beyond = last + 1;  // Infinity, and the one NaN of e4m3, follow the largest finite pattern.
    const double midpoint = (format.largest + value_by_formula(format, beyond)) / 2;
    const auto half = static_cast<float>(midpoint);
    ASSERT_EQ(static_cast<double>(half), midpoint);
    // At the midpoint the tie goes to the even pattern: infinity for IEEE formats, 448 for e4m3 (as 464 does).
    ASSERT_NO_FATAL_FAILURE(expect_rounds(format, below(half), last));
    ASSERT_NO_FATAL_FAILURE(expect_rounds(format, half, last + (last & 1)));
    ASSERT_NO_FATAL_FAILURE(expect_rounds(format, above(half), beyond));
    ASSERT_NO_FATAL_FAILURE(expect_rounds(format, std::numeric_limits<float>::max(), beyond));
    ASSERT_NO_FATAL_FAILURE(expect_rounds(format, std::numeric_limits<float>::infinity(), beyond));
  }
  EXPECT_EQ(to_e4m3(464.0F).bits, 0x7e);
  EXPECT_EQ(to_e4m3(465.0F).bits, 0x7f);
}

TEST(SmallFloat, SubnormalsOfF32RoundToZeroOrKeepBf16Bits) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(to_f16(tiny).bits, 0);
  EXPECT_EQ(to_f16(-tiny).bits, 0x8000);
  EXPECT_EQ(to_e5m2(tiny).bits, 0);
  EXPECT_EQ(to_e4m3(-tiny).bits, 0x80);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x00018000U)).bits, 2) << "a tie between two bf16 subnormals";
}

TEST(SmallFloat, NaNStaysNaNWithTheTopOfItsPayload) {
  const float signalling = std::bit_cast<float>(0xff812345U);
  EXPECT_EQ(to_bf16(signalling).bits, 0xffc1);
  EXPECT_EQ(to_f16(signalling).bits, 0xfe09);
  EXPECT_EQ(to_e5m2(signalling).bits, 0xfe);
  EXPECT_EQ(to_e4m3(signalling).bits, 0xff);
  // A payload in bits that the target drops must not turn into infinity.
  EXPECT_TRUE(std::isnan(to_f32(to_bf16(std::bit_cast<float>(0x7f800001U)))));
}

TEST(Tf32, KeepsTenMantissaBitsTiesToEven) {
  EXPECT_EQ(round_to(DType::tf32, 1.0F + 0x1p-10F), 1.0F + 0x1p-10F);
  EXPECT_EQ(round_to(DType::tf32, 1.0F + 0x1p-11F), 1.0F);
  EXPECT_EQ(round_to(DType::tf32, 1.0F + 3 * 0x1p-11F), 1.0F + 0x1p-9F);
  EXPECT_EQ(round_to(DType::tf32, above(1.0F + 0x1p-11F)), 1.0F + 0x1p-10F);
  EXPECT_EQ(round_to(DType::tf32, 3 * 0x1p-137F), 0x1p-135F) << "f32's subnormals too";
  EXPECT_EQ(round_to(DType::tf32, std::numeric_limits<float>::max()), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(round_to(DType::tf32, std::bit_cast<float>(0x7f800001U))));
}

TEST(Tf32, EveryBoundaryOfTwoBinadesRoundsRight) {
  for (const int scale : {0, -126}) {
    for (int i = 1024; i < 2048; ++i) {
      const float low = std::ldexp(static_cast<float>(i), scale - 10);
      const float high = std::ldexp(static_cast<float>(i + 1), scale - 10);
      const float midpoint = std::ldexp(static_cast<float>(2 * i + 1), scale - 11);
      ASSERT_EQ(round_to(DType::tf32, below(midpoint)), low);
      ASSERT_EQ(round_to(DType::tf32, midpoint), i % 2 == 0 ? low : high);
      ASSERT_EQ(round_to(DType::tf32, above(midpoint)), high);
    }
  }
}

TEST(RoundTo, IsTheRoundTripOfEveryDtype) {
  for (const float value : {0.01F, -3.14159F, 1e-6F, 70000.0F}) {
    EXPECT_EQ(round_to(DType::f32, value), value);
    EXPECT_EQ(round_to(DType::f64, value), value);
    EXPECT_EQ(round_to(DType::f16, value), to_f32(to_f16(value)));
    EXPECT_EQ(round_to(DType::bf16, value), to_f32(to_bf16(value)));
    EXPECT_EQ(round_to(DType::e5m2, value), to_f32(to_e5m2(value)));
  }
  EXPECT_EQ(round_to(DType::e4m3, 0.3F), 0.3125F);
}

TEST(DTypeNames, EveryNameParsesBackAndAliasesAreKnown) {
  for (int i = 0; i <= static_cast<int>(DType::u8); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(name(dtype)), dtype);
  }
  EXPECT_EQ(parse_dtype("bfloat16"), DType::bf16);
  EXPECT_EQ(parse_dtype("BF16"), DType::bf16);
  EXPECT_EQ(parse_dtype("half"), DType::f16);
  EXPECT_EQ(parse_dtype("F8_E4M3"), DType::e4m3);
  EXPECT_EQ(parse_dtype("int8"), DType::s8);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
  EXPECT_EQ(parse_dtype("float17"), std::nullopt);
}

TEST(DTypeNames, SizesAreThoseOfMemory) {
  EXPECT_EQ(size_of(DType::f64), sizeof(double));
  EXPECT_EQ(size_of(DType::tf32), sizeof(float)) << "tf32 is stored as f32";
  EXPECT_EQ(size_of(DType::f16), sizeof(f16));
  EXPECT_EQ(size_of(DType::bf16), sizeof(bf16));
  EXPECT_EQ(size_of(DType::e4m3), sizeof(e4m3));
  EXPECT_EQ(size_of(DType::s32), sizeof(std::int32_t));
  EXPECT_TRUE(is_float(DType::e5m2));
  EXPECT_FALSE(is_float(DType::s32));
}

}  // namespace
}  // namespace assay
