#include <immintrin.h>

#include "kernels/cpu/micro/block.h"
#include "kernels/cpu/micro/target.h"
#include "tensor/small_float.h"

ASSAY_TARGET("avx2,fma,f16c")
#include "kernels/cpu/micro/half_panel.h"

namespace assay::cpu::micro {
namespace {

constexpr std::int64_t vector_bytes = 32;
constexpr std::int64_t panel_row_bytes = panel_width * 4;

float* floats(std::byte* data) {
  return reinterpret_cast<float*>(data);
}
const float* floats(const std::byte* data) {
  return reinterpret_cast<const float*>(data);
}

struct F32OfAvx2 {
  using Vector = __m256;
  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector load(const std::byte* c) { return _mm256_load_ps(floats(c)); }
  static void store(std::byte* c, Vector sums) { _mm256_store_ps(floats(c), sums); }
  static Vector load_weights(const std::byte* panel) { return _mm256_load_ps(floats(panel)); }
  static Vector broadcast(const std::byte* a) { return _mm256_broadcast_ss(floats(a)); }
  static Vector multiply_add(Vector sums, Vector a, Vector weights) { return _mm256_fmadd_ps(a, weights, sums); }
};

/// `rows` x 16 sums: rows of a interleaved, half a panel, sums in rows of 32.
template <int rows>
inline void multiply_interleaved(const float* a, const float* half, float* c, const Block& block) {
  constexpr int lanes = 8;
  constexpr int groups_together = 4;
  __m256 sums[rows][2];
#pragma GCC unroll 6
  for (int row = 0; row < rows; ++row) {
    const float* const before = c + row * panel_width;
    sums[row][0] = block.sums == Sums::start ? _mm256_setzero_ps() : _mm256_load_ps(before);
    sums[row][1] = block.sums == Sums::start ? _mm256_setzero_ps() : _mm256_load_ps(before + lanes);
  }
  const auto multiply_groups = [&]<int count>() __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int group = 0; group < count; ++group) {
      const __m256 left = _mm256_load_ps(half + group * 2 * lanes);
      const __m256 right = _mm256_load_ps(half + group * 2 * lanes + lanes);
#pragma GCC unroll 6
      for (int row = 0; row < rows; ++row) {
        const __m256 value = _mm256_broadcast_ss(a + group * avx2_rows + row);
        sums[row][0] = _mm256_fmadd_ps(value, left, sums[row][0]);
        sums[row][1] = _mm256_fmadd_ps(value, right, sums[row][1]);
      }
    }
    a += count * avx2_rows;
    half += count * 2 * lanes;
  };
  for (std::int64_t turn = block.groups / groups_together; turn > 0; --turn)
    multiply_groups.template operator()<groups_together>();
  for (std::int64_t left = block.groups % groups_together; left > 0; --left) multiply_groups.template operator()<1>();
#pragma GCC unroll 6
  for (int row = 0; row < rows; ++row) {
    _mm256_store_ps(c + row * panel_width, sums[row][0]);
    _mm256_store_ps(c + row * panel_width + lanes, sums[row][1]);
  }
}

template <int rows>
void multiply_interleaved_up_to(const float* a, const float* half, float* c, const Block& block, int count) {
  if constexpr (rows > 1) {
    if (count < rows) return multiply_interleaved_up_to<rows - 1>(a, half, c, block, count);
  }
  multiply_interleaved<rows>(a, half, c, block);
}

/// What the next rows add to: of a strip, sums lie beyond the first cache.
inline void fetch_sums(const float* c) {
  for (int row = 0; row < avx2_rows; ++row)
    _mm_prefetch(reinterpret_cast<const char*>(c + row * panel_width), _MM_HINT_T0);
}

/// 8 f32 from 16-byte halves: f16 by the conversion instruction.
inline __m256 from_f16(const std::byte* data) {
  return _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(data)));
}

/// Byte `place` of each 32-bit lane, as the number it is.
struct S8 {
  template <int place>
  static __m256 as_f32(__m256i quads) {
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(quads, 24 - 8 * place), 24));
  }
};
struct E4m3 {
  template <int place>
  static __m256 as_f32(__m256i quads) {
    const __m256i bits = _mm256_and_si256(_mm256_srli_epi32(quads, 8 * place), _mm256_set1_epi32(0xff));
    return _mm256_i32gather_ps(e4m3_values.data(), bits, 4);
  }
};

template <typename Byte>
inline void bytes_to_f32(const std::byte* panel, std::int64_t groups, std::byte* wide) {
  for (std::int64_t i = 0; i < groups * 4; ++i) {
    const __m256i quads = _mm256_load_si256(reinterpret_cast<const __m256i*>(panel + i * vector_bytes));
    float* const target = floats(wide + i / 4 * 4 * panel_row_bytes + i % 4 * vector_bytes);
    _mm256_store_ps(target, Byte::template as_f32<0>(quads));
    _mm256_store_ps(target + panel_width, Byte::template as_f32<1>(quads));
    _mm256_store_ps(target + 2 * panel_width, Byte::template as_f32<2>(quads));
    _mm256_store_ps(target + 3 * panel_width, Byte::template as_f32<3>(quads));
  }
}

}  // namespace

void multiply_f32_avx2(const Block& block, int rows) {
  multiply_halves_up_to<F32OfAvx2, avx2_rows>(block, rows);
}

void multiply_f32_strip_avx2(const Block& block, int rows) {
  for (int half = 0; half < 2; ++half) {
    float* c = floats(block.c) + half * panel_width / 2;
    for (int done = 0; done < rows; done += avx2_rows, c += avx2_rows * panel_width) {
      const bool is_last = done + avx2_rows >= rows;
      if (block.sums == Sums::go_on && !is_last) fetch_sums(c + avx2_rows * panel_width);
      multiply_interleaved_up_to<avx2_rows>(floats(block.a + done / avx2_rows * block.a_stride),
                                            floats(block.panel + half * block.half_stride), c, block,
                                            is_last ? rows - done : avx2_rows);
    }
  }
}

void f16_to_f32_avx2(const std::byte* panel, std::int64_t groups, std::byte* wide) {
  for (std::int64_t i = 0; i < groups * 4; ++i) {
    _mm256_store_ps(floats(wide + i * vector_bytes), from_f16(panel + i * vector_bytes / 2));
  }
}

void bf16_to_f32_avx2(const std::byte* panel, std::int64_t groups, std::byte* wide) {
  const __m256i high_half = _mm256_set1_epi32(static_cast<int>(0xffff0000U));
  for (std::int64_t i = 0; i < groups * 4; ++i) {
    const __m256i pairs = _mm256_load_si256(reinterpret_cast<const __m256i*>(panel + i * vector_bytes));
    float* const target = floats(wide + i / 4 * 2 * panel_row_bytes + i % 4 * vector_bytes);
    _mm256_store_ps(target, _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)));
    _mm256_store_ps(target + panel_width, _mm256_castsi256_ps(_mm256_and_si256(pairs, high_half)));
  }
}

void s8_to_f32_avx2(const std::byte* panel, std::int64_t groups, std::byte* wide) {
  bytes_to_f32<S8>(panel, groups, wide);
}

void e4m3_to_f32_avx2(const std::byte* panel, std::int64_t groups, std::byte* wide) {
  bytes_to_f32<E4m3>(panel, groups, wide);
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
