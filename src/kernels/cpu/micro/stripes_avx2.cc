#include <immintrin.h>

#include <type_traits>
#include <utility>

#include "kernels/cpu/micro/stripes.h"
#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx2,fma,f16c")
#include "kernels/cpu/micro/integer_stripes_avx2.h"

namespace assay::cpu::micro {
namespace {

/// Codes of 8 bits with their signs: magnitudes up to 128.
struct SignedBytes {
  __m256i codes;
  __m256i magnitudes;

  void read(__m256i lanes) {
    codes = _mm256_xor_si256(lanes, _mm256_set1_epi8(static_cast<char>(0x80)));
    magnitudes = _mm256_abs_epi8(codes);
  }
};

/// Products in pairs of 16 bits. Of 4 bits a stretch's 8 pairs a lane stay below 2^15: 8 * 2 * 15 * 127. Of 8 bits one
/// pair does, and x takes the codes' sign.
struct PairProducts {
  template <int bits>
  using Codes = std::conditional_t<bits == 4, Nibbles, SignedBytes>;
  static constexpr bool has_signs(int bits) { return bits == 8; }

  static __m256i add(__m256i sum, const Nibbles& codes, const std::byte* x) {
    sum = kept(_mm256_add_epi16(sum, _mm256_maddubs_epi16(codes.low, four_of_x(x))));
    return kept(_mm256_add_epi16(sum, _mm256_maddubs_epi16(codes.high, four_of_x(x + 4))));
  }
  static __m256i add(__m256i sum, const SignedBytes& codes, const std::byte* x) {
    const __m256i pairs = _mm256_maddubs_epi16(codes.magnitudes, _mm256_sign_epi8(four_of_x(x), codes.codes));
    return kept(_mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))));
  }
  template <int bits>
  static __m256i finish(__m256i sum) {
    return bits == 4 ? _mm256_madd_epi16(sum, _mm256_set1_epi16(1)) : sum;
  }

 private:
  /// The sum as it is at this place of the program. Otherwise the compiler adds integers in an order of its own, for
  /// which it needs all products at once, and far more registers than there are.
  static __m256i kept(__m256i sum) {
    asm("" : "+x"(sum));
    return sum;
  }
};

/// Value `place` of each lane, as the number it is less the zero that all blocks share.
template <int bits, int place>
inline __m256 code_values(__m256i lanes, int zero) {
  const __m256i shifted = _mm256_srli_epi32(lanes, bits * place);
  const __m256i code = _mm256_and_si256(shifted, _mm256_set1_epi32(bits == 4 ? 0x0F : 0xFF));
  return _mm256_cvtepi32_ps(_mm256_sub_epi32(code, _mm256_set1_epi32(zero)));
}

template <int bits, typename Body>
inline __attribute__((always_inline)) void for_code_values(__m256i lanes, int zero, Body body) {
  const auto each = [&]<int... place>(std::integer_sequence<int, place...>) __attribute__((always_inline)) {
    (body.template operator()<place>(code_values<bits, place>(lanes, zero)), ...);
  };
  each(std::make_integer_sequence<int, 32 / bits>());
}

template <int bits, int rows>
void multiply_float_quarter(const StripeBlock& block, int quarter) {
  constexpr int inputs = 32 / bits;
  __m256 totals[rows];
  for (__m256& total : totals) total = _mm256_setzero_ps();
  const bool has_offset = block.shape.has_offset();
  const std::int64_t x_stride = block.x_stride / 4;
  QuarterHeader headers[1];
  const QuarterHeader& header = headers[0];
  for_quarters(block, quarter, headers, [&](std::int64_t stretch, const std::byte* codes, std::int64_t place) {
    const auto* const x = reinterpret_cast<const float*>(block.x) + stretch * stretch_values;
    __m256 sums[rows][2];
    for (auto& row : sums) row[0] = row[1] = _mm256_setzero_ps();
#pragma GCC unroll 8
    for (int i = 0; i < bits; ++i) {
      for_code_values<bits>(
          load_lanes(codes, i), block.shape.layout.zero, [&]<int k>(__m256 weights) __attribute__((always_inline)) {
#pragma GCC unroll 2
            for (int row = 0; row < rows; ++row)
              sums[row][k % 2] =
                  _mm256_fmadd_ps(weights, _mm256_set1_ps(x[row * x_stride + i * inputs + k]), sums[row][k % 2]);
          });
    }
#pragma GCC unroll 2
    for (int row = 0; row < rows; ++row)
      add_group(totals[row], _mm256_add_ps(sums[row][0], sums[row][1]), header, place, has_offset,
                has_offset ? block.x_sums[row * block.side_stride + stretch] : 0);
  });
  store_quarter<rows>(block, quarter, totals);
}

template <int bits, int rows>
void multiply_float_rows(const StripeBlock& block, int count) {
  if constexpr (rows > 1) {
    if (count < rows) return multiply_float_rows<bits, rows - 1>(block, count);
  }
  for (int quarter = 0; quarter < quarters_of_panel; ++quarter) multiply_float_quarter<bits, rows>(block, quarter);
}

template <int bits>
void widen_quarter_of_stripes(const StripeBlock& block, int quarter, std::byte* wide) {
  const StripeLayout& layout = block.shape.layout;
  QuarterHeader headers[1];
  const QuarterHeader& header = headers[0];
  for_quarters(block, quarter, headers, [&](std::int64_t stretch, const std::byte* codes, std::int64_t place) {
    float* const rows = reinterpret_cast<float*>(wide) + stretch * stretch_values * panel_width;
    for (int i = 0; i < bits; ++i) {
      for_code_values<bits>(
          load_lanes(codes, i), layout.zero, [&]<int k>(__m256 code) __attribute__((always_inline)) {
            const int input = i * 32 / bits + (bits == 4 ? input_of_place[k] : k);
            const __m256 above = layout.has_zero ? _mm256_sub_ps(code, header.zero) : code;
            const __m256 value = layout.has_minimum() ? _mm256_fmsub_ps(code, header.scale[place], header.offset[place])
                                                      : _mm256_mul_ps(above, header.scale[place]);
            _mm256_storeu_ps(rows + input * panel_width + quarter * rows_of_quarter, value);
          });
    }
  });
}

}  // namespace

void multiply_stripes_maddubs(const StripeBlock& block, int rows) {
  multiply_integer_stripes<PairProducts>(block, rows);
}

void multiply_stripes_f32_avx2(const StripeBlock& block, int rows) {
  if (block.shape.layout.bits == 4) return multiply_float_rows<4, float_stripe_rows_avx2>(block, rows);
  multiply_float_rows<8, float_stripe_rows_avx2>(block, rows);
}

void stripes_to_f32_avx2(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide) {
  const StripeShape shape = stripe_shape(format, *stripe_layout(format));
  const StripeBlock block = {.shape = shape, .panel = panel, .stretches = blocks * shape.stretches};
  for (int quarter = 0; quarter < quarters_of_panel; ++quarter) {
    if (shape.layout.bits == 4) {
      widen_quarter_of_stripes<4>(block, quarter, wide);
    } else {
      widen_quarter_of_stripes<8>(block, quarter, wide);
    }
  }
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
