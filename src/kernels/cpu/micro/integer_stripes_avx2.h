#pragma once

#include <cstdint>

#include "kernels/cpu/micro/stripe_quarters.h"
#include "kernels/cpu/micro/stripes.h"

// Included behind ASSAY_TARGET: integer products of stripes in AVX2's registers, by a Products that says how a stretch
// of codes meets one of x.
namespace assay::cpu::micro {
namespace {

/// By an instruction that adds four products of u8 and s8 at once: Dot::multiply_add(sums, bytes, signed bytes).
template <typename Dot>
struct DotProducts {
  /// Codes are taken as they are, without a sign: each stretch starts at what their zero takes off.
  static constexpr bool starts_at_zero(int) { return false; }

  template <int bits>
  static __m256i of_stretch(const std::byte* codes, const std::byte* x) {
    const __m256i low = _mm256_set1_epi8(0x0F);
    __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int i = 0; i < bits; ++i) {
      const __m256i lanes = load_lanes(codes, i);
      if constexpr (bits == 8) {
        sum = Dot::multiply_add(sum, lanes, four_of_x(x + i * 4));
      } else {
        sum = Dot::multiply_add(sum, _mm256_and_si256(lanes, low), four_of_x(x + i * 8));
        sum = Dot::multiply_add(sum, _mm256_and_si256(_mm256_srli_epi16(lanes, 4), low), four_of_x(x + i * 8 + 4));
      }
    }
    return sum;
  }
};

template <typename Products, int bits, int rows>
void multiply_integer_quarter(const StripeBlock& block, int quarter) {
  __m256 totals[rows];
  for (__m256& total : totals) total = _mm256_setzero_ps();
  const bool has_offset = block.shape.has_offset();
  QuarterHeader header;
  for_quarter(block, quarter, header, [&](std::int64_t part, const std::byte* codes, std::int64_t place) {
    const std::int64_t stretch = part / block.parts;
#pragma GCC unroll 3
    for (int row = 0; row < rows; ++row) {
      const std::int64_t side = row * block.side_stride + stretch;
      __m256i sum =
          Products::template of_stretch<bits>(codes, block.x + row * block.x_stride + stretch * stretch_values);
      if constexpr (!Products::starts_at_zero(bits)) sum = _mm256_add_epi32(sum, _mm256_set1_epi32(block.starts[side]));
      const __m256 group = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(block.x_scale[side]));
      add_group(totals[row], group, header, place, has_offset,
                has_offset ? block.x_sums[row * block.side_stride * block.parts + part] : 0);
    }
  });
  store_quarter<rows>(block, quarter, totals);
}

template <typename Products, int bits, int rows>
void multiply_integer_rows(const StripeBlock& block, int count) {
  if constexpr (rows > 1) {
    if (count < rows) return multiply_integer_rows<Products, bits, rows - 1>(block, count);
  }
  for (int quarter = 0; quarter < quarters_of_panel; ++quarter)
    multiply_integer_quarter<Products, bits, rows>(block, quarter);
}

template <typename Products>
void multiply_integer_stripes(const StripeBlock& block, int rows) {
  if (block.shape.layout.bits == 4) return multiply_integer_rows<Products, 4, integer_stripe_rows_avx2>(block, rows);
  multiply_integer_rows<Products, 8, integer_stripe_rows_avx2>(block, rows);
}

}  // namespace
}  // namespace assay::cpu::micro
