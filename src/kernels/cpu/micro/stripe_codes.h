#pragma once

#include "kernels/cpu/micro/stripes.h"

// Included behind ASSAY_TARGET by the AVX-512 loops over stripes.
namespace assay::cpu::micro {
namespace {

constexpr std::int64_t code_vector_bytes = 64;
constexpr int most_stretches = 8;  ///< Of a block of 256.

/// What a stripe's header says, 16 rows a vector.
struct StripeHeader {
  __m512 scale[most_stretches][2];
  __m512 offset[most_stretches][2];  ///< minimum, or scale * zero.
  __m512 zero[2];
  int step;  ///< 0: one scale for all stretches.
};

inline __m512 f16_lanes(const std::byte* data) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(data)));
}

inline __m512 byte_lanes(const std::byte* data) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(data))));
}

inline void read_six_bits(const StripeShape& shape, const std::byte* stripe, StripeHeader& header) {
  const std::byte* const sixes = stripe + 4 * stripe_rows;
  for (int half = 0; half < 2; ++half) {
    const __m512 d = f16_lanes(stripe + 32 * half);
    const __m512 m = f16_lanes(stripe + 2 * stripe_rows + 32 * half);
    for (std::int64_t i = 0; i < shape.groups; ++i) {
      header.scale[i][half] = _mm512_mul_ps(d, byte_lanes(sixes + i * stripe_rows + 16 * half));
      header.offset[i][half] = _mm512_mul_ps(m, byte_lanes(sixes + (i + shape.groups) * stripe_rows + 16 * half));
    }
  }
}

inline void read_header(const StripeShape& shape, const std::byte* stripe, StripeHeader& header) {
  header.step = shape.layout.scales == StripeScales::six_bits ? 1 : 0;
  if (header.step == 1) return read_six_bits(shape, stripe, header);
  const StripeScales scales = shape.layout.scales;
  const bool is_f16 = scales == StripeScales::f16 || scales == StripeScales::f16_pair;
  for (int half = 0; half < 2; ++half) {
    header.scale[0][half] = is_f16 ? f16_lanes(stripe + 32 * half) : _mm512_loadu_ps(stripe + code_vector_bytes * half);
    if (scales == StripeScales::f32_minimum)
      header.offset[0][half] = _mm512_loadu_ps(stripe + code_vector_bytes * (2 + half));
    if (scales == StripeScales::f16_pair)
      header.offset[0][half] = _mm512_sub_ps(_mm512_setzero_ps(), f16_lanes(stripe + 2 * stripe_rows + 32 * half));
    if (!shape.layout.has_zero) continue;
    header.zero[half] = byte_lanes(stripe + shape.zero_at + 16 * half);
    header.offset[0][half] = _mm512_mul_ps(header.scale[0][half], header.zero[half]);
  }
}

/// body(stretch of K, its codes, its place among the header's) for each stretch of the panel.
template <typename Body>
inline void for_stretches(const StripeBlock& block, StripeHeader& header, Body body) {
  const StripeShape& shape = block.shape;
  const std::int64_t code_bytes = shape.layout.code_bytes();
  const std::byte* stripe = block.panel;
  for (std::int64_t first = 0; first < block.stretches; first += shape.stretches, stripe += shape.bytes) {
    read_header(shape, stripe, header);
    const std::int64_t count = block.stretches - first < shape.stretches ? block.stretches - first : shape.stretches;
    const std::byte* codes = stripe + shape.header_bytes;
    for (std::int64_t i = 0; i < count; ++i, codes += code_bytes) body(first + i, codes, i * header.step);
  }
}

/// Weights come from memory where rows are few: a page ahead of what is read, which hardware stops at.
template <int rows>
inline void fetch_codes(const std::byte* codes, std::int64_t bytes) {
  constexpr std::int64_t ahead = 2048;
  if constexpr (rows > 4) return;
  for (std::int64_t at = 0; at < bytes; at += code_vector_bytes)
    _mm_prefetch(reinterpret_cast<const char*>(codes + ahead + at), _MM_HINT_T0);
}

inline __m512i load_codes(const std::byte* codes, int vector) {
  return _mm512_loadu_si512(codes + vector * code_vector_bytes);
}

/// The numbers of four bits, less a zero that all blocks share: a lane's low four bits look one up.
inline __m512 code_table(const StripeLayout& layout) {
  const __m512i codes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_cvtepi32_ps(_mm512_sub_epi32(codes, _mm512_set1_epi32(layout.zero)));
}

template <int place>
inline __m512 four_bits(__m512i lanes, __m512 table) {
  return _mm512_permutexvar_ps(_mm512_srli_epi32(lanes, 4 * place), table);
}

/// Byte `place`, less 128.
template <int place>
inline __m512 eight_bits(__m512i lanes) {
  const __m512i with_sign = _mm512_xor_si512(lanes, _mm512_set1_epi32(static_cast<int>(0x80808080U)));
  return _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(with_sign, 24 - 8 * place), 24));
}

/// sums += group * scale - offset * sum of x, of both halves of a row.
template <bool has_offset>
inline void add_stretch(__m512 (&sums)[2], const __m512 (&group)[2], const StripeHeader& header, std::int64_t place,
                        float x_sum) {
  for (int half = 0; half < 2; ++half) {
    sums[half] = _mm512_fmadd_ps(group[half], header.scale[place][half], sums[half]);
    if constexpr (has_offset)
      sums[half] = _mm512_fnmadd_ps(header.offset[place][half], _mm512_set1_ps(x_sum), sums[half]);
  }
}

template <int rows>
inline void store_stripe_sums(const StripeBlock& block, const __m512 (&sums)[rows][2]) {
  for (int row = 0; row < rows; ++row) {
    _mm512_store_ps(block.c + row * panel_width, sums[row][0]);
    _mm512_store_ps(block.c + row * panel_width + panel_width / 2, sums[row][1]);
  }
}

/// Picks the instance of Loop for the block's bits, offset and rows.
template <template <int, bool, int> typename Loop, int bits, bool has_offset, int rows>
inline void run_rows(const StripeBlock& block, int count) {
  if constexpr (rows > 1) {
    if (count < rows) return run_rows<Loop, bits, has_offset, rows - 1>(block, count);
  }
  Loop<bits, has_offset, rows>::run(block);
}

template <template <int, bool, int> typename Loop, int rows>
inline void run_stripes(const StripeBlock& block, int count) {
  const bool has_offset = block.shape.layout.has_offset();
  if (block.shape.layout.bits == 4)
    return has_offset ? run_rows<Loop, 4, true, rows>(block, count) : run_rows<Loop, 4, false, rows>(block, count);
  return has_offset ? run_rows<Loop, 8, true, rows>(block, count) : run_rows<Loop, 8, false, rows>(block, count);
}

}  // namespace
}  // namespace assay::cpu::micro
