#include <immintrin.h>

#include "kernels/cpu/micro/stripes.h"
#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx2,fma,f16c")
#include "kernels/cpu/micro/stripe_quarters.h"

namespace assay::cpu::micro {
namespace {

constexpr int most_vectors = most_block_elements / 4;
constexpr int most_small_groups = 16;
constexpr int vectors_of_stretch = 8;  ///< Of 4 inputs by 8 rows.

/// A block of each of 8 rows, taken apart: vectors of codes from 0 on, a lane a row, and scales and minima by group.
struct QuarterOfBlocks {
  alignas(32) std::byte codes[most_vectors * lanes_bytes];
  __m256 scales[most_small_groups];
  __m256 minima[most_small_groups];

  void put(std::int64_t vector, __m256i lanes) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(codes + vector * lanes_bytes), lanes);
  }
  __m256i vector(std::int64_t at) const {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(codes + at * lanes_bytes));
  }
};

/// 16 bytes of each of 8 rows: vector i gets bytes 4 i to 4 i + 3 of each row in its lane.
void by_lanes_of_16(const std::byte* first, std::int64_t stride, __m256i* out) {
  __m256i rows[4];  // i and i + 4
  for (int i = 0; i < 4; ++i) {
    const auto row = [&](int at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(first + at * stride)); };
    rows[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(row(i)), row(i + 4), 1);
  }
  const __m256i low01 = _mm256_unpacklo_epi32(rows[0], rows[1]);
  const __m256i high01 = _mm256_unpackhi_epi32(rows[0], rows[1]);
  const __m256i low23 = _mm256_unpacklo_epi32(rows[2], rows[3]);
  const __m256i high23 = _mm256_unpackhi_epi32(rows[2], rows[3]);
  out[0] = _mm256_unpacklo_epi64(low01, low23);
  out[1] = _mm256_unpackhi_epi64(low01, low23);
  out[2] = _mm256_unpacklo_epi64(high01, high23);
  out[3] = _mm256_unpackhi_epi64(high01, high23);
}

/// The same of 32 bytes.
void by_lanes(const std::byte* first, std::int64_t stride, __m256i (&out)[vectors_of_stretch]) {
  by_lanes_of_16(first, stride, out);
  by_lanes_of_16(first + 16, stride, out + 4);
}

__m256i each_byte(int value) {
  return _mm256_set1_epi8(static_cast<char>(value));
}

__m256i low_nibbles(__m256i bytes) {
  return _mm256_and_si256(bytes, each_byte(0x0F));
}

__m256i high_nibbles(__m256i bytes) {
  return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), each_byte(0x0F));
}

/// f16 in the lower half of each lane.
__m256 lower_f16(__m256i lanes) {
  const __m256i halves = _mm256_and_si256(lanes, _mm256_set1_epi32(0xFFFF));
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(halves, halves), _MM_SHUFFLE(3, 1, 2, 0));
  return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
}

/// Whatever the format is.
void take_apart_any(const StripeShape& shape, const std::byte* blocks, QuarterOfBlocks& out) {
  const BlockFormat& format = *shape.format;
  GroupedCodes rows[rows_of_quarter];
  for (int row = 0; row < rows_of_quarter; ++row) format.decode(blocks + row * format.bytes, rows[row]);
  for (std::int64_t stretch = 0; stretch < format.elements / stretch_values; ++stretch) {
    __m256i lanes[vectors_of_stretch];
    by_lanes(reinterpret_cast<const std::byte*>(rows[0].codes.data()) + stretch * stretch_values, sizeof(GroupedCodes),
             lanes);
    for (int v = 0; v < vectors_of_stretch; ++v)
      out.put(stretch * vectors_of_stretch + v, _mm256_add_epi8(lanes[v], each_byte(shape.layout.zero)));
  }
  const auto of_rows = [&](const auto& value) {
    return _mm256_set_ps(value(rows[7]), value(rows[6]), value(rows[5]), value(rows[4]), value(rows[3]), value(rows[2]),
                         value(rows[1]), value(rows[0]));
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(format.elements / format.group); ++i) {
    out.scales[i] = of_rows([i](const GroupedCodes& row) { return row.scales[i]; });
    out.minima[i] = of_rows([i](const GroupedCodes& row) { return row.minima[i]; });
  }
}

// Q6_K and Q5_K as tensor/ggml_blocks.h draws them.

void put_q6_k_scales(const std::byte* blocks, QuarterOfBlocks& out) {
  const std::int64_t stride = blocks::q6_k.bytes;
  alignas(16) std::uint16_t d[rows_of_quarter];
  for (int row = 0; row < rows_of_quarter; ++row) __builtin_memcpy(&d[row], blocks + row * stride + 208, 2);
  const __m256 d_of_rows = _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(d)));
  __m256i fours[4];
  by_lanes_of_16(blocks + 192, stride, fours);
  for (int i = 0; i < 16; ++i) {
    const __m256i one = _mm256_srai_epi32(_mm256_sll_epi32(fours[i / 4], _mm_cvtsi32_si128(24 - 8 * (i % 4))), 24);
    out.scales[i] = _mm256_mul_ps(d_of_rows, _mm256_cvtepi32_ps(one));
    out.minima[i] = _mm256_setzero_ps();
  }
}

void take_apart_q6_k(const StripeShape&, const std::byte* blocks, QuarterOfBlocks& out) {
  const std::int64_t stride = blocks::q6_k.bytes;
  const __m256i upper_bits = each_byte(0x30);
  for (int half = 0; half < 2; ++half) {
    __m256i upper[vectors_of_stretch];
    by_lanes(blocks + 128 + 32 * half, stride, upper);
    const auto upper_of = [&](int v, int quarter) {
      const __m256i bytes = upper[v];
      const __m256i in_place = quarter == 0   ? _mm256_slli_epi16(bytes, 4)
                               : quarter == 1 ? _mm256_slli_epi16(bytes, 2)
                               : quarter == 2 ? bytes
                                              : _mm256_srli_epi16(bytes, 2);
      return _mm256_and_si256(in_place, upper_bits);
    };
#pragma GCC unroll 2
    for (int piece = 0; piece < 2; ++piece) {
      __m256i halves[vectors_of_stretch];
      by_lanes(blocks + 64 * half + 32 * piece, stride, halves);
      const std::int64_t low = (4 * half + piece) * vectors_of_stretch;
      const std::int64_t high = low + 2 * vectors_of_stretch;
      for (int v = 0; v < vectors_of_stretch; ++v) {
        out.put(low + v, _mm256_or_si256(low_nibbles(halves[v]), upper_of(v, piece)));
        out.put(high + v, _mm256_or_si256(high_nibbles(halves[v]), upper_of(v, piece + 2)));
      }
    }
  }
  put_q6_k_scales(blocks, out);
}

/// Byte `place` of each lane.
__m256 byte_of(__m256i lanes, int place) {
  const __m256i moved = _mm256_srl_epi32(lanes, _mm_cvtsi32_si128(8 * place));
  return _mm256_cvtepi32_ps(_mm256_and_si256(moved, _mm256_set1_epi32(0xFF)));
}

__m256i first_six(__m256i bytes) {
  return _mm256_and_si256(bytes, each_byte(0x3F));
}

/// Two upper bits, below four others.
__m256i upper_two(__m256i bytes) {
  return _mm256_and_si256(_mm256_srli_epi16(bytes, 2), each_byte(0x30));
}

void put_q5_k_scales(const std::byte* blocks, QuarterOfBlocks& out) {
  __m256i fours[4];  // d and minimum, then the twelve bytes of scales and minima
  by_lanes_of_16(blocks, blocks::q5_k.bytes, fours);
  const __m256 d = lower_f16(fours[0]);
  const __m256 minimum = lower_f16(_mm256_srli_epi32(fours[0], 16));
  const __m256i scales[] = {first_six(fours[1]), _mm256_or_si256(low_nibbles(fours[3]), upper_two(fours[1]))};
  const __m256i minima[] = {first_six(fours[2]), _mm256_or_si256(high_nibbles(fours[3]), upper_two(fours[2]))};
  for (int i = 0; i < 8; ++i) {
    out.scales[i] = _mm256_mul_ps(d, byte_of(scales[i / 4], i % 4));
    out.minima[i] = _mm256_mul_ps(minimum, byte_of(minima[i / 4], i % 4));
  }
}

void take_apart_q5_k(const StripeShape&, const std::byte* blocks, QuarterOfBlocks& out) {
  const std::int64_t stride = blocks::q5_k.bytes;
  const __m256i fifth_bit = each_byte(0x10);
  __m256i fifth[vectors_of_stretch];  // Bit j of byte i is of input 32 j + i.
  by_lanes(blocks + 16, stride, fifth);
  const auto fifth_of = [&](int v, int bit) {
    const __m256i in_place = bit < 4 ? _mm256_sll_epi16(fifth[v], _mm_cvtsi32_si128(4 - bit))
                                     : _mm256_srl_epi16(fifth[v], _mm_cvtsi32_si128(bit - 4));
    return _mm256_and_si256(in_place, fifth_bit);
  };
#pragma GCC unroll 4
  for (int pair = 0; pair < 4; ++pair) {
    __m256i halves[vectors_of_stretch];
    by_lanes(blocks + 48 + 32 * pair, stride, halves);
    const std::int64_t low = std::int64_t{2} * pair * vectors_of_stretch;
    for (int v = 0; v < vectors_of_stretch; ++v) {
      out.put(low + v, _mm256_or_si256(low_nibbles(halves[v]), fifth_of(v, 2 * pair)));
      out.put(low + vectors_of_stretch + v, _mm256_or_si256(high_nibbles(halves[v]), fifth_of(v, 2 * pair + 1)));
    }
  }
  put_q5_k_scales(blocks, out);
}

using TakeApart = void (*)(const StripeShape& shape, const std::byte* blocks, QuarterOfBlocks& out);

TakeApart taking_apart(const BlockFormat& format) {
  if (&format == &blocks::q6_k) return take_apart_q6_k;
  if (&format == &blocks::q5_k) return take_apart_q5_k;
  return take_apart_any;
}

/// The four products of each lane with codes of six bits: two vectors' sums of pairs stay below 2^15.
__m256i products_of_eight(__m256i first, __m256i second, const std::byte* x) {
  const __m256i pairs =
      _mm256_add_epi16(_mm256_maddubs_epi16(first, four_of_x(x)), _mm256_maddubs_epi16(second, four_of_x(x + 4)));
  return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

__m256 sum_of_codes(const __m256i (&sums)[1], const std::int32_t* starts) {
  return _mm256_cvtepi32_ps(_mm256_add_epi32(sums[0], _mm256_set1_epi32(*starts)));
}

__m256 sum_of_codes(const __m256i (&sums)[pieces_of_float], const std::int32_t* starts) {
  return sum_of_pieces(sums, starts);
}

/// Of one row of x: `pieces` bytes a value.
struct RowOfX {
  const std::byte* x;
  const float* scales;
  const float* sums;
  const std::int32_t* starts;
};

template <int pieces>
RowOfX row_of(const StripeBlock& block, std::int64_t row, std::int64_t first_stretch) {
  constexpr int starts = pieces == 1 ? 1 : 2;
  const std::int64_t side = row * block.side_stride + first_stretch;
  return {block.x + row * block.x_stride + first_stretch * pieces * stretch_values, block.x_scale + side,
          block.x_sums + side * block.parts, block.starts + side * block.parts * starts};
}

/// Adds the products of one row with `stretches` stretches of a block, each in `parts` groups.
template <int pieces, int parts>
__m256 add_block(__m256 total, const QuarterOfBlocks& quarter, const RowOfX& row, std::int64_t stretches) {
  constexpr int vectors = vectors_of_stretch / parts;
  constexpr int starts = pieces == 1 ? 1 : 2;
  for (std::int64_t group = 0; group < stretches * parts; ++group) {
    const std::int64_t stretch = group / parts;
    const std::byte* const x = row.x + stretch * pieces * stretch_values + group % parts * vectors * 4;
    __m256i sums[pieces];
    for (__m256i& sum : sums) sum = _mm256_setzero_si256();
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v += 2) {
      const __m256i first = quarter.vector(group * vectors + v);
      const __m256i second = quarter.vector(group * vectors + v + 1);
#pragma GCC unroll 3
      for (int piece = 0; piece < pieces; ++piece)
        sums[piece] =
            _mm256_add_epi32(sums[piece], products_of_eight(first, second, x + piece * stretch_values + 4 * v));
    }
    const __m256 scaled =
        _mm256_mul_ps(sum_of_codes(sums, row.starts + group * starts), _mm256_set1_ps(row.scales[stretch]));
    total = _mm256_fmadd_ps(scaled, quarter.scales[group], total);
    total = _mm256_fnmadd_ps(quarter.minima[group], _mm256_set1_ps(row.sums[group]), total);
  }
  return total;
}

template <int pieces>
void multiply_small_codes(const StripeBlock& block, int rows) {
  const BlockFormat& format = *block.shape.format;
  const TakeApart take_apart = taking_apart(format);
  const std::int64_t block_stretches = format.elements / stretch_values;
  const std::int64_t stretches = block.stretches / block.parts;
  const std::int64_t quarter_bytes = rows_of_quarter * format.bytes;
  for (std::int64_t i = 0; i < rows * panel_width; ++i) block.c[i] = 0;
  QuarterOfBlocks quarter;
  const std::byte* stored = block.panel;
  for (std::int64_t first = 0; first < stretches; first += block_stretches) {
    const std::int64_t count = stretches - first < block_stretches ? stretches - first : block_stretches;
    for (int i = 0; i < quarters_of_panel; ++i, stored += quarter_bytes) {
      if (rows == 1) fetch_ahead(stored, quarter_bytes);
      take_apart(block.shape, stored, quarter);
      for (std::int64_t row = 0; row < rows; ++row) {
        float* const c = block.c + row * panel_width + i * rows_of_quarter;
        const RowOfX x = row_of<pieces>(block, row, first);
        const auto add = block.parts == 1 ? add_block<pieces, 1> : add_block<pieces, 2>;
        _mm256_storeu_ps(c, add(_mm256_loadu_ps(c), quarter, x, count));
      }
    }
  }
}

}  // namespace

void multiply_small_codes_avx2(const StripeBlock& block, int rows) {
  multiply_small_codes<1>(block, rows);
}

void multiply_small_codes_pieces_avx2(const StripeBlock& block, int rows) {
  multiply_small_codes<pieces_of_float>(block, rows);
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
