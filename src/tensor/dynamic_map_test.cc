#include "tensor/dynamic_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/file.h"
#include "base/json.h"
#include "base/random.h"

namespace assay {
namespace {

float unsigned_value(std::uint32_t code) {
  return unsigned_magnitudes.value[code];
}

/// Values in f32 as numpy computes them from bitsandbytes' definition (tools/generate_optimizer_fixture.py).
TEST(DynamicMap, HasTheValuesOfBitsandbytes) {
  const std::string path = ASSAY_SOURCE_DIR "/tests/fixtures/block_adamw.json";
  const Json fixture = parse_json(read_file(path), path);
  for (std::uint32_t code = 0; code < 256; ++code) {
    const double theirs_signed = fixture.at("signed").at(code).get<double>();
    const double theirs_unsigned = fixture.at("unsigned").at(code).get<double>();
    EXPECT_LE(std::abs(signed_value(code) - theirs_signed), 0x1p-22 * std::abs(theirs_signed)) << code;
    EXPECT_LE(std::abs(unsigned_value(code) - theirs_unsigned), 0x1p-22 * theirs_unsigned) << code;
  }
}

TEST(DynamicMap, RisesFromCodeToCode) {
  for (std::uint32_t code = 1; code < 256; ++code) {
    EXPECT_LT(signed_value(code - 1), signed_value(code)) << code;
    EXPECT_LT(unsigned_value(code - 1), unsigned_value(code)) << code;
  }
  EXPECT_EQ(signed_value(signed_zero), 0);
  EXPECT_EQ(signed_value(255), 1);
  EXPECT_EQ(unsigned_value(0), 0);
  EXPECT_EQ(unsigned_value(255), 1);
}

template <std::size_t count>
void expect_nearest(const DynamicMagnitudes<count>& magnitudes, const MagnitudeBins& bins, float x) {
  const std::uint32_t found = magnitudes.nearest(x);
  EXPECT_EQ(nearest_by_bin(magnitudes, bins, x), found) << x;
  for (const std::uint32_t other : {found - 1, found + 1}) {
    if (other >= count) continue;
    // Half way lies where f32 has it.
    EXPECT_LE(std::abs(double{magnitudes.value[found]} - x), std::abs(double{magnitudes.value[other]} - x) + 1e-6 * x)
        << x;
  }
}

template <std::size_t count>
void expect_all_found(const DynamicMagnitudes<count>& magnitudes, const MagnitudeBins& bins) {
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(magnitudes.nearest(magnitudes.value[i]), i);
    if (i + 1 == count) continue;
    const float half = magnitudes.half[i];
    EXPECT_EQ(magnitudes.nearest(half), i) << "the smaller of two that are equally near";
    for (const float x : {std::nextafter(half, 0.0F), half, std::nextafter(half, 1.0F)})
      expect_nearest(magnitudes, bins, x);
  }
  Random random(3);
  for (int i = 0; i < 20000; ++i)
    expect_nearest(magnitudes, bins, static_cast<float>(std::exp(-20 * random.next_uniform())));
  for (const float x : {0.0F, 1e-40F, 1e-9F, 1.0F}) expect_nearest(magnitudes, bins, x);
}

/// Bins and a bisection are two ways to the nearest: everywhere the same, on both sides of every half way.
TEST(DynamicMap, TheNearestIsFoundByBinsAsByBisection) {
  expect_all_found(signed_magnitudes, signed_bins);
  expect_all_found(unsigned_magnitudes, unsigned_bins);
}

TEST(DynamicMap, WhatIsNegativeStaysNegative) {
  EXPECT_EQ(signed_code(0, true), signed_zero - 1) << "nearest to 0, and still below it";
  EXPECT_EQ(signed_code(0, false), signed_zero);
  EXPECT_EQ(signed_code(128, true), 0U) << "there is no -1";
  for (std::uint32_t code = 0; code < 256; ++code) {
    const float value = signed_value(code);
    EXPECT_EQ(signed_code(signed_magnitudes.nearest(std::abs(value)), value < 0), code) << code;
  }
}

}  // namespace
}  // namespace assay
