#include <immintrin.h>

#include "kernels/cpu/micro/block.h"
#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx2")

namespace assay::cpu::micro {
namespace {

constexpr std::int64_t bytes_a_vector = 32;
constexpr std::int64_t bytes_a_group = panel_width * 4;

const __m256i* integers(const std::byte* data) {
  return reinterpret_cast<const __m256i*>(data);
}
__m256i* integers(std::byte* data) {
  return reinterpret_cast<__m256i*>(data);
}

/// Four products of s8 and s8 and their sum, for 8 outputs: |a| times the weights with a's signs. Neither is -128, so
/// that two products stay below 2^15 in magnitude (2 * 127 * 127 = 32,258) and the sum is exact.
inline __m256i add_quads(__m256i sums, __m256i a, __m256i weights) {
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(weights, a));
  return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

/// `rows` x 16 sums, one half of a panel: 8 accumulators of the 16 registers.
template <int rows>
inline void multiply_half_s8(const Block& block, std::int64_t offset) {
  __m256i sums[rows][2];
#pragma GCC unroll 4
  for (int row = 0; row < rows; ++row) {
    const std::byte* const c = block.c + row * bytes_a_group + offset;
    const bool starts = block.sums == Sums::start;
    sums[row][0] = starts ? _mm256_setzero_si256() : _mm256_load_si256(integers(c));
    sums[row][1] = starts ? _mm256_setzero_si256() : _mm256_load_si256(integers(c + bytes_a_vector));
  }
  const std::byte* panel = block.panel + offset;
  for (std::int64_t group = 0; group < block.groups; ++group) {
    const __m256i left = _mm256_load_si256(integers(panel));
    const __m256i right = _mm256_load_si256(integers(panel + bytes_a_vector));
    panel += bytes_a_group;
#pragma GCC unroll 4
    for (int row = 0; row < rows; ++row) {
      int quad;
      __builtin_memcpy(&quad, block.a + row * block.a_stride + group * 4, sizeof(quad));
      const __m256i a = _mm256_set1_epi32(quad);
      sums[row][0] = add_quads(sums[row][0], a, left);
      sums[row][1] = add_quads(sums[row][1], a, right);
    }
  }
#pragma GCC unroll 4
  for (int row = 0; row < rows; ++row) {
    std::byte* const c = block.c + row * bytes_a_group + offset;
    _mm256_store_si256(integers(c), sums[row][0]);
    _mm256_store_si256(integers(c + bytes_a_vector), sums[row][1]);
  }
}

template <int rows>
void multiply_s8_up_to(const Block& block, int count) {
  if constexpr (rows > 1) {
    if (count < rows) return multiply_s8_up_to<rows - 1>(block, count);
  }
  multiply_half_s8<rows>(block, 0);
  multiply_half_s8<rows>(block, bytes_a_group / 2);
}

}  // namespace

void multiply_s8_avx2(const Block& block, int rows) {
  multiply_s8_up_to<avx2_rows_s8>(block, rows);
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
