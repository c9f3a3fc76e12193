#include <immintrin.h>

#include <utility>

#include "kernels/cpu/micro/stripes.h"
#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx512f,avx512bw,avx512vl,avx512bf16")
#include "kernels/cpu/micro/stripe_codes.h"

namespace assay::cpu::micro {
namespace {

constexpr std::int64_t bf16_group_bytes = 2 * code_vector_bytes;  ///< Of a widened panel: a pair of 32 rows.

/// bf16 of the numbers of four bits, less a zero that all blocks share; twice, for of five bits that pick one the
/// fifth is of the neighbour.
inline __m512i bf16_table_of(const StripeLayout& layout) {
  alignas(64) std::uint16_t values[32];
  for (int i = 0; i < 32; ++i) {
    const auto code = static_cast<float>(i % 16 - layout.zero);
    std::uint32_t bits;
    __builtin_memcpy(&bits, &code, sizeof(bits));
    values[i] = static_cast<std::uint16_t>(bits >> 16);  // Exact: four bits.
  }
  return _mm512_load_si512(values);
}

/// Four bits of each half of a lane: a pair of inputs, as StripeRows::bf16_pairs orders them.
template <int place>
inline __m512i pair_of_codes(__m512i lanes, __m512i table) {
  return _mm512_permutexvar_epi16(_mm512_srli_epi16(lanes, 4 * place), table);
}

template <int rows>
struct Bf16Sums {
  static constexpr int chains = rows <= 2 ? 2 : 1;
  __m512 of[rows][2][chains];
};

/// Products of bf16 that are exact, and so are codes; a scale meets the sum of its stretch.
template <int bits, bool has_offset, int rows>
struct Bf16Stripes {
  template <int place>
  static void add_pair(Bf16Sums<rows>& sums, int half, __m512i lanes, __m512i table, const int* x,
                       std::int64_t x_stride) {
    const auto codes = reinterpret_cast<__m512bh>(pair_of_codes<place>(lanes, table));
#pragma GCC unroll 4
    for (int row = 0; row < rows; ++row) {
      __m512& sum = sums.of[row][half][place % Bf16Sums<rows>::chains];
      sum = _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(_mm512_set1_epi32(x[row * x_stride + place])), codes);
    }
  }

  static void run(const StripeBlock& block) {
    __m512 total[rows][2];
    for (auto& row : total) row[0] = row[1] = _mm512_setzero_ps();
    const __m512i table = bf16_table_of(block.shape.layout);
    StripeHeader header;
    for_stretches(block, header, [&](std::int64_t stretch, const std::byte* codes, std::int64_t place) {
      fetch_codes<rows>(codes, block.shape.layout.code_bytes());
      Bf16Sums<rows> sums;
      for (auto& row : sums.of) {
        for (auto& half : row) {
          for (__m512& sum : half) sum = _mm512_setzero_ps();
        }
      }
      const auto* const x = reinterpret_cast<const int*>(block.x) + stretch * stretch_values / 2;
      const std::int64_t x_stride = block.x_stride / 4;
#pragma GCC unroll 8
      for (int vector = 0; vector < 8; ++vector) {
        const __m512i lanes = load_codes(codes, vector);
        const int* const eight = x + vector / 2 * 4;
        add_pair<0>(sums, vector % 2, lanes, table, eight, x_stride);
        add_pair<1>(sums, vector % 2, lanes, table, eight, x_stride);
        add_pair<2>(sums, vector % 2, lanes, table, eight, x_stride);
        add_pair<3>(sums, vector % 2, lanes, table, eight, x_stride);
      }
#pragma GCC unroll 4
      for (int row = 0; row < rows; ++row) {
        __m512 group[2] = {sums.of[row][0][0], sums.of[row][1][0]};
        if constexpr (Bf16Sums<rows>::chains == 2) {
          group[0] = _mm512_add_ps(group[0], sums.of[row][0][1]);
          group[1] = _mm512_add_ps(group[1], sums.of[row][1][1]);
        }
        add_stretch<has_offset>(total[row], group, header, place,
                                has_offset ? block.x_sums[row * block.side_stride + stretch] : 0);
      }
    });
    store_stripe_sums<rows>(block, total);
  }
};

/// Two neighbours of 16 rows to pairs.
inline void put_pairs(__m512 even, __m512 odd, std::byte* wide) {
  const __m512i pairs = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21,
                                         5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512i narrow = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd, even));
  _mm512_store_si512(wide, _mm512_permutexvar_epi16(pairs, narrow));
}

/// The weights of 16 rows before they are rounded to bf16.
struct WeightsOfHalf {
  __m512 scale;
  __m512 offset;
  bool has_offset;

  __m512 value(__m512 code) const {
    return has_offset ? _mm512_fmsub_ps(code, scale, offset) : _mm512_mul_ps(code, scale);
  }
};

/// Eight inputs of a vector, whose low four bits of byte b are input b and high ones 4 + b.
inline void put_four_bits(__m512i lanes, __m512 table, const WeightsOfHalf& to, std::byte* wide) {
  put_pairs(to.value(four_bits<0>(lanes, table)), to.value(four_bits<2>(lanes, table)), wide);
  put_pairs(to.value(four_bits<4>(lanes, table)), to.value(four_bits<6>(lanes, table)), wide + bf16_group_bytes);
  put_pairs(to.value(four_bits<1>(lanes, table)), to.value(four_bits<3>(lanes, table)), wide + 2 * bf16_group_bytes);
  put_pairs(to.value(four_bits<5>(lanes, table)), to.value(four_bits<7>(lanes, table)), wide + 3 * bf16_group_bytes);
}

inline void put_eight_bits(__m512i lanes, const WeightsOfHalf& to, std::byte* wide) {
  put_pairs(to.value(eight_bits<0>(lanes)), to.value(eight_bits<1>(lanes)), wide);
  put_pairs(to.value(eight_bits<2>(lanes)), to.value(eight_bits<3>(lanes)), wide + bf16_group_bytes);
}

}  // namespace

void multiply_stripes_bf16(const StripeBlock& block, int rows) {
  if (block.shape.layout.has_offset()) return run_rows<Bf16Stripes, 4, true, float_stripe_rows>(block, rows);
  run_rows<Bf16Stripes, 4, false, float_stripe_rows>(block, rows);
}

void stripes_to_bf16(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide) {
  const StripeShape shape = stripe_shape(format, *stripe_layout(format));
  const __m512 table = code_table(shape.layout);
  const StripeBlock block = {.shape = shape, .panel = panel, .stretches = blocks * shape.stretches};
  StripeHeader header;
  for_stretches(block, header, [&](std::int64_t stretch, const std::byte* codes, std::int64_t place) {
    std::byte* const rows = wide + stretch * stretch_values / 2 * bf16_group_bytes;
    for (int vector = 0; vector < 2 * shape.layout.bits; ++vector) {
      const int half = vector % 2;
      const WeightsOfHalf to = {header.scale[place][half], header.offset[place][half], shape.layout.has_offset()};
      const __m512i lanes = load_codes(codes, vector);
      std::byte* const target = rows + half * code_vector_bytes;
      if (shape.layout.bits == 4) {
        put_four_bits(lanes, table, to, target + vector / 2 * 4 * bf16_group_bytes);
      } else {
        put_eight_bits(lanes, to, target + vector / 2 * 2 * bf16_group_bytes);
      }
    }
  });
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
