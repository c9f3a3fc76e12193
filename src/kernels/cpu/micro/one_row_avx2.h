#pragma once

#include "kernels/cpu/micro/stripe_quarters.h"

// Included behind ASSAY_TARGET: one row of x by stripes, as decoding has it. Memory gives the panel front to back, so
// that all of a stripe is multiplied at once, and what a header holds is known to the compiler: asking in each stripe
// costs as much as half of its products.
namespace assay::cpu::micro {
namespace {

/// The row times a panel. Row: bits of a code; sum(block, stretch, codes, groups), the stretch's sums by quarter, that
/// meet scales.
template <typename Row, StripeScales kind, bool has_zero>
void multiply_row_by_panel(const StripeBlock& block) {
  constexpr StripeLayout layout{.bits = Row::bits, .scales = kind, .has_zero = has_zero};
  constexpr std::int64_t code_bytes = layout.code_bytes();
  const StripeShape& shape = block.shape;
  __m256 totals[quarters_of_panel];
#pragma GCC unroll 4
  for (__m256& total : totals) total = _mm256_setzero_ps();
  const std::byte* stripe = block.panel;
  for (std::int64_t first = 0; first < block.stretches; first += shape.stretches, stripe += shape.bytes) {
    fetch_ahead(stripe, shape.header_bytes);
    const std::int64_t count = block.stretches - first < shape.stretches ? block.stretches - first : shape.stretches;
    const std::byte* codes = stripe + shape.header_bytes;
    for (std::int64_t i = 0; i < count; ++i, codes += code_bytes) {
      fetch_ahead(codes, code_bytes);
      __m256 groups[quarters_of_panel];
      Row::sum(block, first + i, codes, groups);
      const __m256 x_scale = _mm256_set1_ps(block.x_scale[first + i]);
#pragma GCC unroll 4
      for (int quarter = 0; quarter < quarters_of_panel; ++quarter) {
        const int row = quarter * rows_of_quarter;
        const __m256 scale = scale_of(layout, stripe, row, i);
        __m256& total = totals[quarter];
        total = _mm256_fmadd_ps(_mm256_mul_ps(groups[quarter], x_scale), scale, total);
        if constexpr (layout.has_offset())
          total = _mm256_fnmadd_ps(offset_of(layout, shape, stripe, row, i, scale),
                                   _mm256_set1_ps(block.x_sums[first + i]), total);
      }
    }
  }
#pragma GCC unroll 4
  for (int quarter = 0; quarter < quarters_of_panel; ++quarter)
    _mm256_storeu_ps(block.c + quarter * rows_of_quarter, totals[quarter]);
}

/// The same for any layout that formats are re-laid in; false, and nothing done, for others.
template <typename Row>
bool multiply_one_row(const StripeBlock& block) {
  using enum StripeScales;
  const StripeLayout& layout = block.shape.layout;
  switch (layout.scales) {
    case f16:
      layout.has_zero ? multiply_row_by_panel<Row, f16, true>(block) : multiply_row_by_panel<Row, f16, false>(block);
      return true;
    case f32:
      layout.has_zero ? multiply_row_by_panel<Row, f32, true>(block) : multiply_row_by_panel<Row, f32, false>(block);
      return true;
    case f16_pair:
      multiply_row_by_panel<Row, f16_pair, false>(block);
      return true;
    case six_bits:
      multiply_row_by_panel<Row, six_bits, false>(block);
      return true;
    default:
      return false;
  }
}

}  // namespace
}  // namespace assay::cpu::micro
