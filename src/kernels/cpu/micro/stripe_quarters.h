#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/micro/stripes.h"

// Included behind ASSAY_TARGET: stripes in AVX2's registers, 8 rows (a quarter of a panel) at a time.
namespace assay::cpu::micro {
namespace {

constexpr std::int64_t lanes_bytes = 32;
constexpr std::int64_t vector_pair_bytes = 128;  ///< Of codes: both halves of the rows.
constexpr int most_groups = 8;
constexpr int rows_of_quarter = 8;
constexpr int quarters_of_panel = 4;
constexpr std::int64_t six_bits_at = 4 * stripe_rows;  ///< Of a header of six_bits: behind d and m.

/// What a stripe's header says of 8 rows.
struct QuarterHeader {
  __m256 scale[most_groups];
  __m256 offset[most_groups];
  __m256 zero;
};

inline __m256 eight_f16(const std::byte* data) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(data)));
}

inline __m256 eight_f32(const std::byte* data) {
  return _mm256_loadu_ps(reinterpret_cast<const float*>(data));
}

inline __m256 eight_bytes(const std::byte* data) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(data))));
}

// What a stripe's header (StripeScales) says of 8 rows from `row` on: of that group, where the layout has six_bits. Of
// a `layout` that the compiler knows nothing is asked at run time.

inline __attribute__((always_inline)) __m256 scale_of(const StripeLayout& layout, const std::byte* stripe, int row,
                                                      std::int64_t group) {
  using enum StripeScales;
  if (layout.scales == f32 || layout.scales == f32_minimum) return eight_f32(stripe + std::ptrdiff_t{4} * row);
  const __m256 first = eight_f16(stripe + std::ptrdiff_t{2} * row);
  if (layout.scales != six_bits) return first;
  return _mm256_mul_ps(first, eight_bytes(stripe + six_bits_at + group * stripe_rows + row));
}

inline __attribute__((always_inline)) __m256 zero_of(const StripeShape& shape, const std::byte* stripe, int row) {
  return eight_bytes(stripe + shape.zero_at + row);
}

/// Of layouts that have one: minimum, or scale * zero. `layout` is the shape's.
inline __attribute__((always_inline)) __m256 offset_of(const StripeLayout& layout, const StripeShape& shape,
                                                       const std::byte* stripe, int row, std::int64_t group,
                                                       __m256 scale) {
  using enum StripeScales;
  if (layout.has_zero) return _mm256_mul_ps(scale, zero_of(shape, stripe, row));
  if (layout.scales == f32_minimum) return eight_f32(stripe + 4 * (stripe_rows + row));
  const __m256 second = eight_f16(stripe + 2 * (stripe_rows + row));
  if (layout.scales == f16_pair) return _mm256_sub_ps(_mm256_setzero_ps(), second);
  return _mm256_mul_ps(second, eight_bytes(stripe + six_bits_at + (shape.groups + group) * stripe_rows + row));
}

inline __attribute__((always_inline)) void read_group(const StripeShape& shape, const std::byte* stripe, int row,
                                                      std::int64_t group, QuarterHeader& header) {
  header.scale[group] = scale_of(shape.layout, stripe, row, group);
  if (shape.layout.has_offset())
    header.offset[group] = offset_of(shape.layout, shape, stripe, row, group, header.scale[group]);
}

inline __attribute__((always_inline)) void read_quarter(const StripeShape& shape, const std::byte* stripe, int quarter,
                                                        QuarterHeader& header) {
  const int row = quarter * rows_of_quarter;
  read_group(shape, stripe, row, 0, header);
  if (shape.layout.has_zero) header.zero = zero_of(shape, stripe, row);
  if (shape.layout.scales != StripeScales::six_bits) return;
  for (std::int64_t group = 1; group < shape.groups; ++group) read_group(shape, stripe, row, group, header);
}

/// body(stretch of K, its codes from that quarter on, its place among the headers') for each stretch of the panel.
template <int quarters, typename Body>
inline void for_quarters(const StripeBlock& block, int quarter, QuarterHeader (&headers)[quarters], Body body) {
  const StripeShape& shape = block.shape;
  const std::int64_t code_bytes = shape.layout.code_bytes();
  const int step = shape.layout.scales == StripeScales::six_bits ? 1 : 0;
  const std::byte* stripe = block.panel;
  for (std::int64_t first = 0; first < block.stretches; first += shape.stretches, stripe += shape.bytes) {
    for (int i = 0; i < quarters; ++i) read_quarter(shape, stripe, quarter + i, headers[i]);
    const std::int64_t count = block.stretches - first < shape.stretches ? block.stretches - first : shape.stretches;
    const std::byte* codes = stripe + shape.header_bytes + quarter * lanes_bytes;
    for (std::int64_t i = 0; i < count; ++i, codes += code_bytes) body(first + i, codes, i * step);
  }
}

/// A panel that is read once, all of it: half a page ahead of what is multiplied, since hardware does not fetch beyond
/// a page's end.
inline __attribute__((always_inline)) void fetch_ahead(const std::byte* codes, std::int64_t bytes) {
  constexpr std::int64_t ahead = 2048;
  for (std::int64_t at = 0; at < bytes; at += line_bytes)
    _mm_prefetch(reinterpret_cast<const char*>(codes + ahead + at), _MM_HINT_T0);
}

inline __m256i load_lanes(const std::byte* codes, int pair) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + pair * vector_pair_bytes));
}

inline __m256i four_of_x(const std::byte* x) {
  int quad;
  __builtin_memcpy(&quad, x, sizeof(quad));
  return _mm256_set1_epi32(quad);
}

inline void add_group(__m256& total, __m256 group, const QuarterHeader& header, std::int64_t place, bool has_offset,
                      float x_sum) {
  total = _mm256_fmadd_ps(group, header.scale[place], total);
  if (has_offset) total = _mm256_fnmadd_ps(header.offset[place], _mm256_set1_ps(x_sum), total);
}

/// 2^16 a + 2^8 b + c of the sums of each piece: both halves are exact, the whole is rounded once.
inline __m256 sum_of_pieces(const __m256i (&sums)[pieces_of_float], const std::int32_t* starts) {
  const __m256i upper = _mm256_add_epi32(_mm256_slli_epi32(sums[0], 8), sums[1]);
  const __m256 high = _mm256_cvtepi32_ps(_mm256_add_epi32(upper, _mm256_set1_epi32(starts[0])));
  const __m256 low = _mm256_cvtepi32_ps(_mm256_add_epi32(sums[2], _mm256_set1_epi32(starts[1])));
  return _mm256_fmadd_ps(high, _mm256_set1_ps(256), low);
}

template <int rows>
inline void store_quarter(const StripeBlock& block, int quarter, const __m256 (&totals)[rows]) {
  for (int row = 0; row < rows; ++row)
    _mm256_storeu_ps(block.c + row * panel_width + quarter * rows_of_quarter, totals[row]);
}

}  // namespace
}  // namespace assay::cpu::micro
