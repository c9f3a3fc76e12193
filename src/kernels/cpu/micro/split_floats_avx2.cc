#include <immintrin.h>

#include <bit>

#include "kernels/cpu/micro/stripes.h"
#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx2,fma")

namespace assay::cpu::micro {
namespace {

constexpr int vectors_of_stretch = 4;

std::int32_t largest_lane(__m256i lanes) {
  __m128i most = _mm_max_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
  most = _mm_max_epi32(most, _mm_shuffle_epi32(most, _MM_SHUFFLE(1, 0, 3, 2)));
  most = _mm_max_epi32(most, _mm_shuffle_epi32(most, _MM_SHUFFLE(2, 3, 0, 1)));
  return _mm_cvtsi128_si32(most);
}

std::int32_t sum_of_lanes(__m256i lanes) {
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, _MM_SHUFFLE(1, 0, 3, 2)));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, _MM_SHUFFLE(2, 3, 0, 1)));
  return _mm_cvtsi128_si32(sum);
}

/// What a stretch is multiplied by, so that its largest magnitude becomes 2^22 at most, and what undoes it.
struct PowerOfTwo {
  float up;
  float down;
};

PowerOfTwo power_for(std::int32_t largest_bits) {
  constexpr int not_finite = 255;
  constexpr int least = 22;  ///< Of exponents as they are stored: `down` is a normal number then.
  const int exponent = largest_bits >> 23;
  if (exponent == not_finite) return {0, std::bit_cast<float>(0x7FC00000)};
  const int held = exponent < least ? least : exponent;
  return {std::bit_cast<float>((275 - held) << 23), std::bit_cast<float>((held - 21) << 23)};
}

/// The lowest byte of each lane, with its sign.
__m256i lowest_bytes(__m256i lanes) {
  return _mm256_srai_epi32(_mm256_slli_epi32(lanes, 24), 24);
}

void store_bytes(const __m256i (&lanes)[vectors_of_stretch], std::byte* to) {
  const __m256i halves =
      _mm256_packs_epi16(_mm256_packs_epi32(lanes[0], lanes[1]), _mm256_packs_epi32(lanes[2], lanes[3]));
  const __m256i in_order = _mm256_permutevar8x32_epi32(halves, _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), in_order);
}

/// Takes the lowest byte off each number; those bytes.
void take_byte(__m256i (&numbers)[vectors_of_stretch], __m256i (&bytes)[vectors_of_stretch]) {
  for (int v = 0; v < vectors_of_stretch; ++v) {
    bytes[v] = lowest_bytes(numbers[v]);
    numbers[v] = _mm256_srai_epi32(_mm256_sub_epi32(numbers[v], bytes[v]), 8);
  }
}

void put_sums(const __m256i (&upper)[vectors_of_stretch], const __m256i (&low)[vectors_of_stretch], float scale,
              std::int64_t stretch, const PiecesOfRow& to) {
  const int vectors = vectors_of_stretch / static_cast<int>(to.parts);
  for (std::int64_t part = 0; part < to.parts; ++part) {
    __m256i high_sum = _mm256_setzero_si256();
    __m256i low_sum = _mm256_setzero_si256();
    for (int v = 0; v < vectors; ++v) {
      high_sum = _mm256_add_epi32(high_sum, upper[part * vectors + v]);
      low_sum = _mm256_add_epi32(low_sum, low[part * vectors + v]);
    }
    const std::int32_t high = sum_of_lanes(high_sum);
    const std::int32_t lowest = sum_of_lanes(low_sum);
    const std::int64_t at = stretch * to.parts + part;
    to.sums[at] = scale * static_cast<float>(high * 256 + lowest);
    to.starts[2 * at] = -to.zero * high;
    to.starts[2 * at + 1] = -to.zero * lowest;
  }
}

void split_stretch(const float* x, std::int64_t stretch, const PiecesOfRow& to) {
  const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
  __m256i largest = _mm256_setzero_si256();
  for (int v = 0; v < vectors_of_stretch; ++v) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + 8 * v));
    largest = _mm256_max_epi32(largest, _mm256_and_si256(bits, magnitude));
  }
  const PowerOfTwo power = power_for(largest_lane(largest));
  __m256i numbers[vectors_of_stretch];
  for (int v = 0; v < vectors_of_stretch; ++v)
    numbers[v] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * v), _mm256_set1_ps(power.up)));
  std::byte* const pieces = to.pieces + stretch * pieces_bytes;
  __m256i low[vectors_of_stretch];
  __m256i middle[vectors_of_stretch];
  take_byte(numbers, low);
  put_sums(numbers, low, power.down, stretch, to);
  store_bytes(low, pieces + 2 * stretch_values);
  take_byte(numbers, middle);
  store_bytes(middle, pieces + stretch_values);
  store_bytes(numbers, pieces);
  to.scales[stretch] = power.down;
}

}  // namespace

void split_floats_avx2(const float* x, std::int64_t stretches, const PiecesOfRow& to) {
  for (std::int64_t i = 0; i < stretches; ++i) split_stretch(x + i * stretch_values, i, to);
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
