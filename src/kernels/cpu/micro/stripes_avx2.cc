#include <immintrin.h>

#include <type_traits>

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

/// Numbers are first 2^24 times themselves: a byte that lies on top of its lane.
constexpr float on_top = 0x1p-24F;

/// Byte `byte` of each lane, as a number times 2^24.
template <int byte>
inline __m256 numbers_of(__m256i bytes) {
  constexpr auto top_of = [](int from) { return from << 24 | 0x808080; };
  const __m128i to_top = _mm_set_epi32(top_of(byte + 12), top_of(byte + 8), top_of(byte + 4), top_of(byte));
  return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(to_top)));
}

/// body(vector of lanes, the number of that input) for the 4 inputs whose codes are the bytes of `codes`.
template <typename Body>
inline __attribute__((always_inline)) void for_bytes(__m256i codes, __m256i zero, int first, Body body) {
  const __m256i bytes = _mm256_sub_epi8(codes, zero);
  body(first, numbers_of<0>(bytes));
  body(first + 1, numbers_of<1>(bytes));
  body(first + 2, numbers_of<2>(bytes));
  body(first + 3, numbers_of<3>(bytes));
}

/// The same for all inputs of a vector of codes: less the zero that all blocks share, times 2^24.
template <int bits, typename Body>
inline __attribute__((always_inline)) void for_numbers(__m256i lanes, int zero, Body body) {
  const __m256i zeros = _mm256_set1_epi8(static_cast<char>(zero));
  if constexpr (bits == 8) {
    for_bytes(lanes, zeros, 0, body);
  } else {
    Nibbles nibbles;
    nibbles.read(lanes);
    for_bytes(nibbles.low, zeros, 0, body);
    for_bytes(nibbles.high, zeros, 4, body);
  }
}

/// Of codes of 8 bits.
template <int rows>
void multiply_float_quarters(const StripeBlock& block, int first) {
  constexpr int bits = 8;
  constexpr int quarters = quarters_at_once(rows);
  constexpr int inputs = stretch_values / bits;
  __m256 totals[quarters][rows];
#pragma GCC unroll 4
  for (int at = 0; at < rows * quarters; ++at) totals[at % quarters][at / quarters] = _mm256_setzero_ps();
  const bool has_offset = block.shape.layout.has_offset();
  const std::int64_t x_stride = block.x_stride / 4;
  QuarterHeader headers[quarters];
  for_quarters(block, first, headers, [&](std::int64_t stretch, const std::byte* codes, std::int64_t place) {
    if constexpr (quarters == quarters_of_panel) fetch_ahead(codes, block.shape.layout.code_bytes());
    const auto* const x = reinterpret_cast<const float*>(block.x) + stretch * stretch_values;
    __m256 sums[rows * quarters];
#pragma GCC unroll 4
    for (__m256& sum : sums) sum = _mm256_setzero_ps();
#pragma GCC unroll 8
    for (int i = 0; i < bits; ++i) {
#pragma GCC unroll 4
      for (int quarter = 0; quarter < quarters; ++quarter) {
        for_numbers<bits>(
            load_lanes(codes + quarter * lanes_bytes, i),
            block.shape.layout.zero, [&](int k, __m256 weights) __attribute__((always_inline)) {
#pragma GCC unroll 2
              for (int row = 0; row < rows; ++row) {
                __m256& sum = sums[row * quarters + quarter];
                sum = _mm256_fmadd_ps(weights, _mm256_set1_ps(x[row * x_stride + i * inputs + k]), sum);
              }
            });
      }
    }
#pragma GCC unroll 4
    for (int at = 0; at < rows * quarters; ++at) {
      const int row = at / quarters;
      add_group(totals[at % quarters][row], _mm256_mul_ps(sums[at], _mm256_set1_ps(on_top)), headers[at % quarters],
                place, has_offset, has_offset ? block.x_sums[row * block.side_stride + stretch] : 0);
    }
  });
  for (int i = 0; i < quarters; ++i) store_quarter<rows>(block, first + i, totals[i]);
}

/// What a stretch adds to the sums of so many rows and quarters, piece by piece: of 4 bits, 16-bit sums of 16 products
/// stay below 2^15.
template <int rows, int quarters>
inline void sum_pieces(const StripeBlock& block, const std::byte* codes, const std::byte* x,
                       __m256i (&sums)[rows * quarters][pieces_of_float]) {
#pragma GCC unroll 12
  for (int at = 0; at < rows * quarters; ++at) {
    for (__m256i& sum : sums[at]) sum = _mm256_setzero_si256();
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 4
    for (int quarter = 0; quarter < quarters; ++quarter) {
      Nibbles nibbles;
      nibbles.read(load_lanes(codes + quarter * lanes_bytes, i));
#pragma GCC unroll 2
      for (int row = 0; row < rows; ++row) {
#pragma GCC unroll 3
        for (int piece = 0; piece < pieces_of_float; ++piece) {
          __m256i& sum = sums[row * quarters + quarter][piece];
          sum = PairProducts::add(sum, nibbles, x + row * block.x_stride + piece * stretch_values + i * 8);
        }
      }
    }
  }
}

template <int rows>
void multiply_pieces_of_quarters(const StripeBlock& block, int first) {
  constexpr int quarters = quarters_at_once(rows);
  __m256 totals[quarters][rows];
#pragma GCC unroll 4
  for (int at = 0; at < rows * quarters; ++at) totals[at % quarters][at / quarters] = _mm256_setzero_ps();
  const bool has_offset = block.shape.layout.has_offset();
  QuarterHeader headers[quarters];
  for_quarters(block, first, headers, [&](std::int64_t stretch, const std::byte* codes, std::int64_t place) {
    if constexpr (quarters == quarters_of_panel) fetch_ahead(codes, block.shape.layout.code_bytes());
    __m256i sums[rows * quarters][pieces_of_float];
    sum_pieces<rows, quarters>(block, codes, block.x + stretch * pieces_bytes, sums);
#pragma GCC unroll 4
    for (int at = 0; at < rows * quarters; ++at) {
      const int row = at / quarters;
      const std::int64_t side = row * block.side_stride + stretch;
      for (__m256i& sum : sums[at]) sum = PairProducts::finish<4>(sum);
      const __m256 group =
          _mm256_mul_ps(sum_of_pieces(sums[at], block.starts + 2 * side), _mm256_set1_ps(block.x_scale[side]));
      add_group(totals[at % quarters][row], group, headers[at % quarters], place, has_offset,
                has_offset ? block.x_sums[side] : 0);
    }
  });
  for (int i = 0; i < quarters; ++i) store_quarter<rows>(block, first + i, totals[i]);
}

/// Row of multiply_one_row: floats in pieces. The sums of two quarters at a time stay in registers.
struct PiecesRow {
  static constexpr int bits = 4;

  static inline void sum(const StripeBlock& block, std::int64_t stretch, const std::byte* codes,
                         __m256 (&groups)[quarters_of_panel]) {
    constexpr int together = 2;
#pragma GCC unroll 2
    for (int first = 0; first < quarters_of_panel; first += together) {
      __m256i sums[together][pieces_of_float];
      sum_pieces<1, together>(block, codes + first * lanes_bytes, block.x + stretch * pieces_bytes, sums);
#pragma GCC unroll 2
      for (int i = 0; i < together; ++i) {
#pragma GCC unroll 3
        for (__m256i& sum : sums[i]) sum = PairProducts::finish<4>(sum);
        groups[first + i] = sum_of_pieces(sums[i], block.starts + 2 * stretch);
      }
    }
  }
};

struct FloatQuarters {
  template <int rows>
  static void multiply(const StripeBlock& block, int first) {
    multiply_float_quarters<rows>(block, first);
  }
};

struct PiecesOfQuarters {
  template <int rows>
  static void multiply(const StripeBlock& block, int first) {
    multiply_pieces_of_quarters<rows>(block, first);
  }
};

template <int bits>
void widen_quarter_of_stripes(const StripeBlock& block, int quarter, std::byte* wide) {
  const StripeLayout& layout = block.shape.layout;
  QuarterHeader headers[1];
  const QuarterHeader& header = headers[0];
  for_quarters(block, quarter, headers, [&](std::int64_t stretch, const std::byte* codes, std::int64_t place) {
    float* const rows = reinterpret_cast<float*>(wide) + stretch * stretch_values * panel_width;
    const __m256 scale = header.scale[place];
    const __m256 down = _mm256_set1_ps(on_top);
    const __m256 scaled_down = _mm256_mul_ps(scale, down);
    for (int i = 0; i < bits; ++i) {
      for_numbers<bits>(
          load_lanes(codes, i), layout.zero, [&](int k, __m256 number) __attribute__((always_inline)) {
            __m256 value = _mm256_mul_ps(number, scaled_down);
            if (layout.has_minimum()) value = _mm256_fmsub_ps(number, scaled_down, header.offset[place]);
            if (layout.has_zero) value = _mm256_mul_ps(_mm256_fmsub_ps(number, down, header.zero), scale);
            const std::int64_t input = i * stretch_values / bits + k;
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
  multiply_all_quarters<FloatQuarters, float_stripe_rows_avx2>(block, rows);
}

void multiply_stripes_pieces_avx2(const StripeBlock& block, int rows) {
  if (rows == 1 && multiply_one_row<PiecesRow>(block)) return;
  multiply_all_quarters<PiecesOfQuarters, float_stripe_rows_avx2>(block, rows);
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
