#pragma once

#include <emmintrin.h>

#include <cstddef>
#include <cstdint>

namespace assay::cpu::micro {

/// The sum of 16 neighbours of s8. SSE2, which every x86-64 has.
inline std::int32_t sum_of_sixteen(const std::byte* x) {
  const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
  const __m128i from_zero = _mm_xor_si128(codes, _mm_set1_epi8(static_cast<char>(0x80)));  // plus 128 each
  const __m128i halves = _mm_sad_epu8(from_zero, _mm_setzero_si128());
  return _mm_cvtsi128_si32(_mm_add_epi32(halves, _mm_unpackhi_epi64(halves, halves))) - 16 * 128;
}

}  // namespace assay::cpu::micro
