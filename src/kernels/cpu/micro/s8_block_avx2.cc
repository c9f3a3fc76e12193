#include "kernels/cpu/micro/block.h"
#include "kernels/cpu/micro/target.h"

#include <immintrin.h>

ASSAY_TARGET("avx2")
#include "kernels/cpu/micro/byte_registers.h"
#include "kernels/cpu/micro/half_panel.h"

namespace assay::cpu::micro {
namespace {

/// Four products of s8 and s8 and their sum, for 8 outputs: |a| times the weights with a's signs. Neither is -128, so
/// that two products stay below 2^15 in magnitude (2 * 127 * 127 = 32,258) and the sum is exact.
struct Quads : S32Sums {
  static Vector multiply_add(Vector sums, Vector a, Vector weights) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(weights, a));
    return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};

/// Two products of s8 that lie in 16 bits each.
struct WidePairs : S32Sums {
  static Vector multiply_add(Vector sums, Vector a, Vector weights) {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(a, weights));
  }
};

}  // namespace

void multiply_s8_avx2(const Block& block, int rows) {
  multiply_halves_up_to<Quads, avx2_rows_s8>(block, rows);
}

void multiply_s16_avx2(const Block& block, int rows) {
  multiply_halves_up_to<WidePairs, avx2_rows>(block, rows);
}

/// 8 outputs at a time. Widened as they lie, the pairs of one output would stand side by side: quarters are put in an
/// order in which taking every second pair leaves outputs in theirs.
void s8_to_s16_avx2(const std::byte* panel, std::int64_t groups, std::byte* wide) {
  for (std::int64_t i = 0; i < groups * 4; ++i) {
    const __m256i quads = S32Sums::load(panel + i * half_vector_bytes);
    const __m256i moved = _mm256_permute4x64_epi64(quads, 0b11011000);
    const __m256 first = _mm256_castsi256_ps(_mm256_cvtepi8_epi16(_mm256_castsi256_si128(moved)));
    const __m256 second = _mm256_castsi256_ps(_mm256_cvtepi8_epi16(_mm256_extracti128_si256(moved, 1)));
    std::byte* const target = wide + i / 4 * 2 * half_group_bytes + i % 4 * half_vector_bytes;
    S32Sums::store(target, _mm256_castps_si256(_mm256_shuffle_ps(first, second, 0b10001000)));
    S32Sums::store(target + half_group_bytes, _mm256_castps_si256(_mm256_shuffle_ps(first, second, 0b11011101)));
  }
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
