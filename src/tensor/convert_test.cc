#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/random.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace assay {
namespace {

template <typename To, typename From>
std::vector<To> converted_values(DType from_dtype, const std::vector<From>& from, DType to_dtype) {
  std::vector<To> to(from.size());
  convert(from_dtype, from.data(), to_dtype, to.data(), from.size());
  return to;
}

/// Random bit patterns (every kind of float, NaN included) and the neighbourhoods of all bf16 and f16 boundaries.
std::vector<float> telling_floats() {
  std::vector<float> values;
  Random random(7);
  for (int i = 0; i < 200'000; ++i) values.push_back(std::bit_cast<float>(random.next_u32()));
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    for (const std::uint32_t low : {0x0000U, 0x7fffU, 0x8000U, 0x8001U}) {
      values.push_back(std::bit_cast<float>(pattern << 16 | low));
    }
    const auto half = std::bit_cast<std::uint32_t>(to_f32(f16{static_cast<std::uint16_t>(pattern)}));
    for (const std::uint32_t offset : {0x0fffU, 0x1000U, 0x1001U})
      values.push_back(std::bit_cast<float>(half + offset));
  }
  return values;
}

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

TEST(Convert, NarrowingInBulkEqualsTheScalarFunctionsBitForBit) {
  const std::vector<float> values = telling_floats();
  const auto halves = converted_values<f16>(DType::f32, values, DType::f16);
  const auto brains = converted_values<bf16>(DType::f32, values, DType::bf16);
  const auto e4m3s = converted_values<e4m3>(DType::f32, values, DType::e4m3);
  const auto e5m2s = converted_values<e5m2>(DType::f32, values, DType::e5m2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(halves[i].bits, to_f16(values[i]).bits) << std::hex << bits_of(values[i]);
    ASSERT_EQ(brains[i].bits, to_bf16(values[i]).bits) << std::hex << bits_of(values[i]);
    ASSERT_EQ(e4m3s[i].bits, to_e4m3(values[i]).bits) << std::hex << bits_of(values[i]);
    ASSERT_EQ(e5m2s[i].bits, to_e5m2(values[i]).bits) << std::hex << bits_of(values[i]);
  }
}

TEST(Convert, WideningInBulkEqualsTheScalarFunctionsBitForBit) {
  std::vector<std::uint16_t> patterns(0x10000);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
  const auto from_f16 = converted_values<float>(DType::f16, patterns, DType::f32);
  const auto from_bf16 = converted_values<float>(DType::bf16, patterns, DType::f32);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    ASSERT_EQ(bits_of(from_f16[i]), bits_of(to_f32(f16{patterns[i]}))) << i;
    ASSERT_EQ(bits_of(from_bf16[i]), bits_of(to_f32(bf16{patterns[i]}))) << i;
  }
}

TEST(Convert, BetweenSixteenBitTypesEveryPatternRoundsOnce) {
  std::vector<std::uint16_t> patterns(0x10000);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
  const auto brains = converted_values<bf16>(DType::f16, patterns, DType::bf16);
  const auto halves = converted_values<f16>(DType::bf16, patterns, DType::f16);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    ASSERT_EQ(brains[i].bits, to_bf16(to_f32(f16{patterns[i]})).bits) << i;
    ASSERT_EQ(halves[i].bits, to_f16(to_f32(bf16{patterns[i]})).bits) << i;
  }
}

TEST(Convert, EveryLengthHasItsTail) {
  std::vector<float> values(40);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.1F * static_cast<float>(i);
  for (std::size_t count = 0; count <= values.size(); ++count) {
    std::vector<f16> halves(count + 1, f16{0xabcd});
    std::vector<bf16> brains(count + 1, bf16{0xabcd});
    convert(DType::f32, values.data(), DType::f16, halves.data(), count);
    convert(DType::f32, values.data(), DType::bf16, brains.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(halves[i].bits, to_f16(values[i]).bits);
      ASSERT_EQ(brains[i].bits, to_bf16(values[i]).bits);
    }
    ASSERT_EQ(halves[count].bits, 0xabcd) << "nothing is written past the end";
    ASSERT_EQ(brains[count].bits, 0xabcd);
  }
}

TEST(Convert, DoublesRoundOnceNotTwice) {
  // Just above the midpoint of 1 and the next f16: by way of f32 it would become the tie and round down to 1.
  const std::vector<double> values = {1.0 + 0x1p-11 + 0x1p-40, 1.0 + 0x1p-8 + 0x1p-40};
  EXPECT_EQ(converted_values<f16>(DType::f64, values, DType::f16)[0].bits, 0x3c01);
  EXPECT_EQ(converted_values<bf16>(DType::f64, values, DType::bf16)[1].bits, 0x3f81);
}

TEST(Convert, IntegersSaturateAndRoundTiesToEven) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0.5F,   1.5F,    -0.5F, -2.5F, 126.5F, 127.5F,
                                     300.0F, -128.5F, -1e9F, inf,   -inf,   std::numeric_limits<float>::quiet_NaN()};
  const std::vector<std::int8_t> s8s = {0, 2, 0, -2, 126, 127, 127, -128, -128, 127, -128, 0};
  const std::vector<std::uint8_t> u8s = {0, 2, 0, 0, 126, 128, 255, 0, 0, 255, 0, 0};
  EXPECT_EQ(converted_values<std::int8_t>(DType::f32, values, DType::s8), s8s);
  EXPECT_EQ(converted_values<std::uint8_t>(DType::f32, values, DType::u8), u8s);
  const auto s32s = converted_values<std::int32_t>(DType::f32, std::vector<float>{3e9F, -3e9F, 2.5F}, DType::s32);
  EXPECT_EQ(s32s, (std::vector<std::int32_t>{2147483647, -2147483647 - 1, 2}));
  const auto cut = converted_values<std::int8_t>(DType::s32, std::vector<std::int32_t>{1000, -1000, 5}, DType::s8);
  EXPECT_EQ(cut, (std::vector<std::int8_t>{127, -128, 5}));
}

TEST(Convert, IntegersWidenExactly) {
  const std::vector<std::int32_t> values = {0, -1, 16777216, 16777217, std::numeric_limits<std::int32_t>::min()};
  const auto doubles = converted_values<double>(DType::s32, values, DType::f64);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(doubles[i], values[i]);
  const auto brains = converted_values<bf16>(DType::s32, std::vector<std::int32_t>{257, 259}, DType::bf16);
  EXPECT_EQ(to_f32(brains[0]), 256.0F);
  EXPECT_EQ(to_f32(brains[1]), 260.0F);
}

TEST(Convert, SameDtypeKeepsEveryBit) {
  const std::vector<std::uint32_t> patterns = {0x7f800001U, 0x00000001U, 0x80000000U};
  EXPECT_EQ(converted_values<std::uint32_t>(DType::f32, patterns, DType::f32), patterns);
}

TEST(Convert, Tf32IsStoredAsRoundedF32) {
  const std::vector<float> values = {0.1F, 1.0F + 0x1p-11F, -3.0F};
  const auto rounded = converted_values<float>(DType::f32, values, DType::tf32);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(rounded[i], round_to(DType::tf32, values[i]));
}

TEST(Convert, EveryPairOfFloatsAgreesWithItsTwoSteps) {
  constexpr DType floats[] = {DType::f64, DType::f32, DType::tf32, DType::f16, DType::bf16, DType::e4m3, DType::e5m2};
  const std::vector<float> values = {0.0F, -0.0F, 1.0F, 0.01F, -2.75F, 440.0F, 1e-3F};
  for (const DType from : floats) {
    Tensor source = converted({DType::f32, {7}, reinterpret_cast<const std::byte*>(values.data())}, from);
    for (const DType to : floats) {
      const Tensor wide = converted(converted(source.view(), to).view(), DType::f32);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const float expected = round_to(to, round_to(from, values[i]));
        EXPECT_EQ(bits_of(wide.as<float>()[i]), bits_of(expected)) << name(from) << " to " << name(to);
      }
    }
  }
}

}  // namespace
}  // namespace assay
