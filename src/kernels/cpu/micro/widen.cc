#include <immintrin.h>

#include "kernels/cpu/micro/block.h"
#include "kernels/cpu/micro/target.h"
#include "tensor/small_float.h"

ASSAY_TARGET("avx512f,avx512bw,avx512vl")

namespace assay::cpu::micro {
namespace {

constexpr std::int64_t vector_bytes = 64;

/// Byte `place` of each 32-bit lane, as the number it is.
struct S8 {
  template <int place>
  static __m512 as_f32(__m512i quads) {
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(quads, 24 - 8 * place), 24));
  }
};
struct E4m3 {
  template <int place>
  static __m512 as_f32(__m512i quads) {
    const __m512i bits = _mm512_and_si512(_mm512_srli_epi32(quads, 8 * place), _mm512_set1_epi32(0xff));
    return _mm512_i32gather_ps(bits, e4m3_values.data(), 4);
  }
};

/// Bytes `place` and `place` + 1 of each lane as a pair of bf16. Every s8 is a bf16 (8 bits of significand), and so is
/// every e4m3 (4 bits, a smaller range).
template <typename Byte, int place>
inline __m512i bytes_as_bf16(__m512i quads) {
  const __m512i low = _mm512_castps_si512(Byte::template as_f32<place>(quads));
  const __m512i high = _mm512_castps_si512(Byte::template as_f32<place + 1>(quads));
  return _mm512_or_si512(_mm512_srli_epi32(low, 16), high);
}

/// The two halves of a panel: 16 outputs each.
template <typename Half>
inline void for_halves(const std::byte* panel, std::int64_t groups, Half half) {
  for (std::int64_t group = 0; group < groups; ++group) {
    half(_mm512_load_si512(panel + group * 2 * vector_bytes), group, 0);
    half(_mm512_load_si512(panel + (group * 2 + 1) * vector_bytes), group, vector_bytes);
  }
}

template <typename Byte>
inline void bytes_to_f32(const std::byte* panel, std::int64_t groups, std::byte* wide) {
  for_halves(panel, groups, [=](__m512i quads, std::int64_t group, std::int64_t offset) {
    std::byte* const target = wide + group * 8 * vector_bytes + offset;
    _mm512_store_ps(target, Byte::template as_f32<0>(quads));
    _mm512_store_ps(target + 2 * vector_bytes, Byte::template as_f32<1>(quads));
    _mm512_store_ps(target + 4 * vector_bytes, Byte::template as_f32<2>(quads));
    _mm512_store_ps(target + 6 * vector_bytes, Byte::template as_f32<3>(quads));
  });
}

template <typename Byte>
inline void bytes_to_bf16(const std::byte* panel, std::int64_t groups, std::byte* wide) {
  for_halves(panel, groups, [=](__m512i quads, std::int64_t group, std::int64_t offset) {
    std::byte* const target = wide + group * 4 * vector_bytes + offset;
    _mm512_store_si512(target, bytes_as_bf16<Byte, 0>(quads));
    _mm512_store_si512(target + 2 * vector_bytes, bytes_as_bf16<Byte, 2>(quads));
  });
}

}  // namespace

void f16_to_f32(const std::byte* panel, std::int64_t groups, std::byte* wide) {
  for (std::int64_t i = 0; i < groups * 2; ++i) {
    const __m256i halves = _mm256_load_si256(reinterpret_cast<const __m256i*>(panel + i * vector_bytes / 2));
    _mm512_store_ps(wide + i * vector_bytes, _mm512_cvtph_ps(halves));
  }
}

void bf16_to_f32(const std::byte* panel, std::int64_t groups, std::byte* wide) {
  const __m512i high_half = _mm512_set1_epi32(static_cast<int>(0xffff0000U));
  for_halves(panel, groups, [=](__m512i pairs, std::int64_t group, std::int64_t offset) {
    std::byte* const target = wide + group * 4 * vector_bytes + offset;
    _mm512_store_si512(target, _mm512_slli_epi32(pairs, 16));
    _mm512_store_si512(target + 2 * vector_bytes, _mm512_and_si512(pairs, high_half));
  });
}

void s8_to_f32(const std::byte* panel, std::int64_t groups, std::byte* wide) {
  bytes_to_f32<S8>(panel, groups, wide);
}

void s8_to_bf16(const std::byte* panel, std::int64_t groups, std::byte* wide) {
  bytes_to_bf16<S8>(panel, groups, wide);
}

void e4m3_to_f32(const std::byte* panel, std::int64_t groups, std::byte* wide) {
  bytes_to_f32<E4m3>(panel, groups, wide);
}

void e4m3_to_bf16(const std::byte* panel, std::int64_t groups, std::byte* wide) {
  bytes_to_bf16<E4m3>(panel, groups, wide);
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
