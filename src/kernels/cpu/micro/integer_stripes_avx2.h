#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cpu/micro/one_row_avx2.h"
#include "kernels/cpu/micro/stripes.h"

// Included behind ASSAY_TARGET: integer products of stripes in AVX2's registers. Products say how a vector of codes
// meets x: Codes<bits>, what all rows share of a vector; add, a sum with its products with one row's x; finish, the
// sum of a stretch in 32 bits; has_signs, whether codes of so many bits have their sign back.
namespace assay::cpu::micro {
namespace {

/// Codes of 4 bits: a byte holds one of an input and one of the fourth behind it.
struct Nibbles {
  __m256i low;
  __m256i high;

  void read(__m256i lanes) {
    const __m256i four_bits = _mm256_set1_epi8(0x0F);
    low = _mm256_and_si256(lanes, four_bits);
    high = _mm256_and_si256(_mm256_srli_epi16(lanes, 4), four_bits);
  }
};

/// Codes of 8 bits, as they are.
struct Bytes {
  __m256i all;
  void read(__m256i lanes) { all = lanes; }
};

/// By an instruction that adds four products of u8 and s8 at once: Dot::multiply_add(sums, bytes, signed bytes).
template <typename Dot>
struct DotProducts {
  template <int bits>
  using Codes = std::conditional_t<bits == 4, Nibbles, Bytes>;
  static constexpr bool has_signs(int) { return false; }

  static __m256i add(__m256i sum, const Nibbles& codes, const std::byte* x) {
    return Dot::multiply_add(Dot::multiply_add(sum, codes.low, four_of_x(x)), codes.high, four_of_x(x + 4));
  }
  static __m256i add(__m256i sum, const Bytes& codes, const std::byte* x) {
    return Dot::multiply_add(sum, codes.all, four_of_x(x));
  }
  template <int bits>
  static __m256i finish(__m256i sum) {
    return sum;
  }
};

/// As many quarters of a panel at once as leave their sums in registers. Of one row all four: the panel is then read
/// front to back, which memory gives fastest.
constexpr int quarters_at_once(int rows) {
  return rows == 1 ? 4 : 2;
}

/// All quarters of `count` rows, at most `rows`: Quarters::multiply<rows>(block, the first of quarters_at_once(rows)).
template <typename Quarters, int rows>
void multiply_all_quarters(const StripeBlock& block, int count) {
  if constexpr (rows > 1) {
    if (count < rows) return multiply_all_quarters<Quarters, rows - 1>(block, count);
  }
  for (int quarter = 0; quarter < quarters_of_panel; quarter += quarters_at_once(rows))
    Quarters::template multiply<rows>(block, quarter);
}

/// What a stretch adds to the sums of so many rows and quarters, in 32 bits.
template <typename Products, int bits, int rows, int quarters>
inline void sum_stretch(const std::byte* x, std::int64_t x_stride, const std::byte* codes,
                        __m256i (&sums)[rows * quarters]) {
  constexpr int inputs = stretch_values / bits;
#pragma GCC unroll 12
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
#pragma GCC unroll 8
  for (int i = 0; i < bits; ++i) {
    typename Products::template Codes<bits> vectors[quarters];
#pragma GCC unroll 4
    for (int quarter = 0; quarter < quarters; ++quarter)
      vectors[quarter].read(load_lanes(codes + quarter * lanes_bytes, i));
#pragma GCC unroll 12
    for (int at = 0; at < rows * quarters; ++at)
      sums[at] = Products::add(sums[at], vectors[at % quarters], x + at / quarters * x_stride + i * inputs);
  }
#pragma GCC unroll 12
  for (__m256i& sum : sums) sum = Products::template finish<bits>(sum);
}

template <typename Products, int bits, int rows>
void multiply_integer_quarters(const StripeBlock& block, int first) {
  constexpr int quarters = quarters_at_once(rows);
  __m256 totals[quarters][rows];
#pragma GCC unroll 12
  for (int at = 0; at < rows * quarters; ++at) totals[at % quarters][at / quarters] = _mm256_setzero_ps();
  const bool has_offset = block.shape.layout.has_offset();
  QuarterHeader headers[quarters];
  for_quarters(block, first, headers, [&](std::int64_t part, const std::byte* codes, std::int64_t place) {
    if constexpr (quarters == quarters_of_panel) fetch_ahead(codes, block.shape.layout.code_bytes());
    const std::int64_t stretch = block.parts == 1 ? part : part / 2;
    __m256i sums[rows * quarters];
    sum_stretch<Products, bits, rows, quarters>(block.x + stretch * stretch_values, block.x_stride, codes, sums);
#pragma GCC unroll 12
    for (int at = 0; at < rows * quarters; ++at) {
      const int row = at / quarters;
      const std::int64_t side = row * block.side_stride + stretch;
      const __m256i start = _mm256_set1_epi32(Products::has_signs(bits) ? 0 : block.starts[side]);
      const __m256 group =
          _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_add_epi32(sums[at], start)), _mm256_set1_ps(block.x_scale[side]));
      add_group(totals[at % quarters][row], group, headers[at % quarters], place, has_offset,
                has_offset ? block.x_sums[row * block.side_stride * block.parts + part] : 0);
    }
  });
  for (int i = 0; i < quarters; ++i) store_quarter<rows>(block, first + i, totals[i]);
}

template <typename Products, int bits>
struct IntegerQuarters {
  template <int rows>
  static void multiply(const StripeBlock& block, int first) {
    multiply_integer_quarters<Products, bits, rows>(block, first);
  }
};

/// Row of multiply_one_row: integers by codes of 4 bits. (Those of 8 bits wait for memory, and lose a tenth this way.)
template <typename Products>
struct IntegerRow {
  static constexpr int bits = 4;

  static inline void sum(const StripeBlock& block, std::int64_t stretch, const std::byte* codes,
                         __m256 (&groups)[quarters_of_panel]) {
    __m256i sums[quarters_of_panel];
    sum_stretch<Products, bits, 1, quarters_of_panel>(block.x + stretch * stretch_values, 0, codes, sums);
    const __m256i start = _mm256_set1_epi32(Products::has_signs(bits) ? 0 : block.starts[stretch]);
#pragma GCC unroll 4
    for (int i = 0; i < quarters_of_panel; ++i) groups[i] = _mm256_cvtepi32_ps(_mm256_add_epi32(sums[i], start));
  }
};

template <typename Products>
void multiply_integer_stripes(const StripeBlock& block, int rows) {
  constexpr int most = integer_stripe_rows_avx2;
  if (block.shape.layout.bits == 4) {
    if (rows == 1 && multiply_one_row<IntegerRow<Products>>(block)) return;
    return multiply_all_quarters<IntegerQuarters<Products, 4>, most>(block, rows);
  }
  multiply_all_quarters<IntegerQuarters<Products, 8>, most>(block, rows);
}

}  // namespace
}  // namespace assay::cpu::micro
