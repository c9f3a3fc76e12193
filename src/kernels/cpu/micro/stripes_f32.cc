#include <immintrin.h>

#include <utility>

#include "kernels/cpu/micro/stripes.h"
#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx512f,avx512bw,avx512vl")
#include "kernels/cpu/micro/stripe_codes.h"

namespace assay::cpu::micro {
namespace {

constexpr std::int64_t widened_row_bytes = 2 * code_vector_bytes;
/// The input, of eight, that stands in each four bits of a lane, from the low ones on.
constexpr int input_of_half[8] = {0, 4, 1, 5, 2, 6, 3, 7};

/// body<place>(values) for each value of the lanes, as StripeRows orders inputs.
template <int bits, typename Body>
inline __attribute__((always_inline)) void for_values(__m512i lanes, __m512 table, Body body) {
  const auto each = [&]<int... place>(std::integer_sequence<int, place...>) __attribute__((always_inline)) {
    if constexpr (bits == 4) (body.template operator()<place>(four_bits<place>(lanes, table)), ...);
    if constexpr (bits == 8) (body.template operator()<place>(eight_bits<place>(lanes)), ...);
  };
  each(std::make_integer_sequence<int, 32 / bits>());
}

template <int bits, bool has_offset, int rows>
struct FloatStripes {
  /// Two sums by turns hide the latency of one.
  static constexpr int chains = rows <= 2 ? 2 : 1;
  static constexpr int inputs = 32 / bits;  ///< Of a vector.

  static void run(const StripeBlock& block) {
    __m512 total[rows][2];
    for (auto& row : total) row[0] = row[1] = _mm512_setzero_ps();
    const __m512 table = code_table(block.shape.layout);
    StripeHeader header;
    for_stretches(block, header, [&](std::int64_t stretch, const std::byte* codes, std::int64_t place) {
      fetch_codes<rows>(codes, block.shape.layout.code_bytes());
      __m512 sums[rows][2][chains];
      for (auto& row : sums) {
        for (auto& half : row) {
          for (__m512& sum : half) sum = _mm512_setzero_ps();
        }
      }
      const auto* const x = reinterpret_cast<const float*>(block.x) + stretch * stretch_values;
      const std::int64_t x_stride = block.x_stride / 4;
#pragma GCC unroll 16
      for (int vector = 0; vector < 2 * bits; ++vector) {
        for_values<bits>(
            load_codes(codes, vector), table, [&]<int k>(__m512 weights) __attribute__((always_inline)) {
#pragma GCC unroll 4
              for (int row = 0; row < rows; ++row) {
                __m512& sum = sums[row][vector % 2][k % chains];
                sum = _mm512_fmadd_ps(weights, _mm512_set1_ps(x[row * x_stride + vector / 2 * inputs + k]), sum);
              }
            });
      }
#pragma GCC unroll 4
      for (int row = 0; row < rows; ++row) {
        __m512 group[2] = {sums[row][0][0], sums[row][1][0]};
        if constexpr (chains == 2) {
          group[0] = _mm512_add_ps(group[0], sums[row][0][1]);
          group[1] = _mm512_add_ps(group[1], sums[row][1][1]);
        }
        add_stretch<has_offset>(total[row], group, header, place,
                                has_offset ? block.x_sums[row * block.side_stride + stretch] : 0);
      }
    });
    store_stripe_sums<rows>(block, total);
  }
};

/// The weights of 16 rows: exact but for one rounding.
struct Widening {
  __m512 scale;
  __m512 offset;
  __m512 zero;
  bool has_zero;
  bool has_minimum;

  __m512 value(__m512 code) const {
    if (has_zero) return _mm512_mul_ps(_mm512_sub_ps(code, zero), scale);
    return has_minimum ? _mm512_fmsub_ps(code, scale, offset) : _mm512_mul_ps(code, scale);
  }
};

template <int bits>
void widen_stripes_to_f32(const StripeShape& shape, const std::byte* panel, std::int64_t blocks, std::byte* wide) {
  const __m512 table = code_table(shape.layout);
  StripeHeader header;
  const StripeBlock block = {.shape = shape, .panel = panel, .stretches = blocks * shape.stretches};
  for_stretches(block, header, [&](std::int64_t stretch, const std::byte* codes, std::int64_t place) {
    std::byte* const rows = wide + stretch * stretch_values * widened_row_bytes;
    for (int half = 0; half < 2; ++half) {
      const Widening to = {header.scale[place][half], header.offset[place][half], header.zero[half],
                           shape.layout.has_zero, shape.layout.has_minimum()};
      for (int i = 0; i < bits; ++i) {
        for_values<bits>(
            load_codes(codes, 2 * i + half), table, [&]<int k>(__m512 code) __attribute__((always_inline)) {
              const int input = i * 32 / bits + (bits == 4 ? input_of_half[k] : k);
              _mm512_store_ps(rows + input * widened_row_bytes + half * code_vector_bytes, to.value(code));
            });
      }
    }
  });
}

}  // namespace

void multiply_stripes_f32(const StripeBlock& block, int rows) {
  run_stripes<FloatStripes, float_stripe_rows>(block, rows);
}

void stripes_to_f32(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide) {
  const StripeShape shape = stripe_shape(format, *stripe_layout(format));
  if (shape.layout.bits == 4) return widen_stripes_to_f32<4>(shape, panel, blocks, wide);
  widen_stripes_to_f32<8>(shape, panel, blocks, wide);
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
