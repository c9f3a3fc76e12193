#include <immintrin.h>

#include "kernels/cpu/micro/block.h"
#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx2")

namespace assay::cpu::micro {
namespace {

constexpr std::int64_t s16_vector_bytes = 32;
constexpr std::int64_t s16_group_bytes = panel_width * 4;

const __m256i* s16_at(const std::byte* data) {
  return reinterpret_cast<const __m256i*>(data);
}
__m256i* s16_at(std::byte* data) {
  return reinterpret_cast<__m256i*>(data);
}

/// `rows` x 16 sums, one half of a panel: 12 accumulators of the 16 registers.
template <int rows>
inline void multiply_half_s16(const Block& block, std::int64_t offset) {
  __m256i sums[rows][2];
#pragma GCC unroll 6
  for (int row = 0; row < rows; ++row) {
    const std::byte* const c = block.c + row * s16_group_bytes + offset;
    const bool starts = block.sums == Sums::start;
    sums[row][0] = starts ? _mm256_setzero_si256() : _mm256_load_si256(s16_at(c));
    sums[row][1] = starts ? _mm256_setzero_si256() : _mm256_load_si256(s16_at(c + s16_vector_bytes));
  }
  const std::byte* panel = block.panel + offset;
  for (std::int64_t pair = 0; pair < block.groups; ++pair) {
    const __m256i left = _mm256_load_si256(s16_at(panel));
    const __m256i right = _mm256_load_si256(s16_at(panel + s16_vector_bytes));
    panel += s16_group_bytes;
    const std::byte* const a = block.a + pair * 4;
#pragma GCC unroll 6
    for (int row = 0; row < rows; ++row) {
      int two;
      __builtin_memcpy(&two, a + row * block.a_stride, sizeof(two));
      const __m256i values = _mm256_set1_epi32(two);
      sums[row][0] = _mm256_add_epi32(sums[row][0], _mm256_madd_epi16(values, left));
      sums[row][1] = _mm256_add_epi32(sums[row][1], _mm256_madd_epi16(values, right));
    }
  }
#pragma GCC unroll 6
  for (int row = 0; row < rows; ++row) {
    std::byte* const c = block.c + row * s16_group_bytes + offset;
    _mm256_store_si256(s16_at(c), sums[row][0]);
    _mm256_store_si256(s16_at(c + s16_vector_bytes), sums[row][1]);
  }
}

template <int rows>
void multiply_s16_up_to(const Block& block, int count) {
  if constexpr (rows > 1) {
    if (count < rows) return multiply_s16_up_to<rows - 1>(block, count);
  }
  multiply_half_s16<rows>(block, 0);
  multiply_half_s16<rows>(block, s16_group_bytes / 2);
}

}  // namespace

void multiply_s16_avx2(const Block& block, int rows) {
  multiply_s16_up_to<avx2_rows>(block, rows);
}

/// 8 outputs at a time. Widened as they lie, the pairs of one output would stand side by side: quarters are put in an
/// order in which taking every second pair leaves outputs in theirs.
void s8_to_s16_avx2(const std::byte* panel, std::int64_t groups, std::byte* wide) {
  for (std::int64_t i = 0; i < groups * 4; ++i) {
    const __m256i quads = _mm256_load_si256(s16_at(panel + i * s16_vector_bytes));
    const __m256i moved = _mm256_permute4x64_epi64(quads, 0b11011000);
    const __m256 first = _mm256_castsi256_ps(_mm256_cvtepi8_epi16(_mm256_castsi256_si128(moved)));
    const __m256 second = _mm256_castsi256_ps(_mm256_cvtepi8_epi16(_mm256_extracti128_si256(moved, 1)));
    std::byte* const target = wide + i / 4 * 2 * s16_group_bytes + i % 4 * s16_vector_bytes;
    _mm256_store_si256(s16_at(target), _mm256_castps_si256(_mm256_shuffle_ps(first, second, 0b10001000)));
    _mm256_store_si256(s16_at(target + s16_group_bytes),
                       _mm256_castps_si256(_mm256_shuffle_ps(first, second, 0b11011101)));
  }
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
