#include <immintrin.h>

#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx2,fma,f16c")
#include "kernels/cpu/micro/few_rows.h"

namespace assay::cpu::micro {
namespace {

struct Registers {
  using Vector = __m256;
  static constexpr int lanes = 8;
  static constexpr int most_sums = 8;
  static constexpr std::int64_t ahead = 0;
  static constexpr std::int64_t stored_bytes = 32;
  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
  static void store(std::byte* c, Vector sums) { _mm256_store_ps(reinterpret_cast<float*>(c), sums); }
  static Vector broadcast(const std::byte* a) { return _mm256_broadcast_ss(reinterpret_cast<const float*>(a)); }
  static Vector multiply_add(Vector sums, Vector a, Vector weights) { return _mm256_fmadd_ps(a, weights, sums); }
  static __m256i load(const std::byte* panel) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(panel)); }
};

struct FromF32 : Registers {
  static constexpr int steps = 1;
  template <int>
  static Vector widen(__m256i stored) {
    return _mm256_castsi256_ps(stored);
  }
};

struct FromBf16 : Registers {
  static constexpr int steps = 2;
  template <int step>
  static Vector widen(__m256i pairs) {
    return _mm256_castsi256_ps(step == 0 ? _mm256_slli_epi32(pairs, 16)
                                         : _mm256_and_si256(pairs, _mm256_set1_epi32(static_cast<int>(0xffff0000U))));
  }
};

struct FromF16 : Registers {
  static constexpr int steps = 1;
  static constexpr std::int64_t stored_bytes = 16;
  static __m128i load(const std::byte* panel) { return _mm_load_si128(reinterpret_cast<const __m128i*>(panel)); }
  template <int>
  static Vector widen(__m128i stored) {
    return _mm256_cvtph_ps(stored);
  }
};

/// As with wide registers: 2^24 times the value, until the end. Twelve steps a vector fill the processor's queue before
/// it has asked for what comes in a few hundred bytes: asked for ahead, weights come at memory's rate (Zen 3, one
/// thread: 82 to 62 ns a KiB). Plain f32 gains nothing from that.
struct FromS8 : Registers {
  static constexpr int steps = 4;
  static constexpr std::int64_t ahead = 2048;
  template <int step>
  static Vector widen(__m256i quads) {
    if (step == 3) return _mm256_cvtepi32_ps(_mm256_and_si256(quads, _mm256_set1_epi32(static_cast<int>(0xff000000U))));
    const __m128i to_top = _mm_set_epi32(top_of(step + 12), top_of(step + 8), top_of(step + 4), top_of(step));
    return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(quads, _mm256_broadcastsi128_si256(to_top)));
  }
  static void store(std::byte* c, Vector sums) { Registers::store(c, _mm256_mul_ps(sums, _mm256_set1_ps(0x1p-24F))); }

 private:
  static constexpr int top_of(int byte) { return byte << 24 | 0x808080; }
};

/// Products of s8 and their sums in s32, exact: a quad of each output as two pairs of 16 bits, its even and its odd
/// bytes. (The instruction that multiplies bytes themselves saturates its sums at 16 bits.)
struct BytePairs {
  __m256i even;
  __m256i odd;

  explicit BytePairs(__m256i quads)
      : even(_mm256_srai_epi16(_mm256_slli_epi16(quads, 8), 8)), odd(_mm256_srai_epi16(quads, 8)) {}
  __m256i products(const BytePairs& other) const {
    return _mm256_add_epi32(_mm256_madd_epi16(even, other.even), _mm256_madd_epi16(odd, other.odd));
  }
};

__m256i broadcast_quad(const std::byte* a) {
  int quad;
  __builtin_memcpy(&quad, a, sizeof(quad));
  return _mm256_set1_epi32(quad);
}

template <int rows>
inline void multiply_bytes(const Block& block) {
  constexpr int vectors = panel_width / 8;
  __m256i sums[rows][vectors];
#pragma GCC unroll 8
  for (int i = 0; i < rows * vectors; ++i) sums[i / vectors][i % vectors] = _mm256_setzero_si256();
  for (std::int64_t group = 0; group < block.groups; ++group) {
    const std::byte* const panel = block.panel + group * panel_width * 4;
    const std::byte* const a = block.a + group * 4;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const BytePairs weights(Registers::load(panel + v * Registers::stored_bytes));
#pragma GCC unroll 2
      for (int row = 0; row < rows; ++row) {
        const BytePairs x(broadcast_quad(a + row * block.a_stride));
        sums[row][v] = _mm256_add_epi32(sums[row][v], weights.products(x));
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < rows * vectors; ++i)
    _mm256_store_si256(reinterpret_cast<__m256i*>(block.c + i * 32), sums[i / vectors][i % vectors]);
}

}  // namespace

void multiply_few_f32_avx2(const Block& block, int rows) {
  multiply_widened_up_to<FromF32, few_rows_avx2>(block, rows);
}

void multiply_few_bf16_avx2(const Block& block, int rows) {
  multiply_widened_up_to<FromBf16, few_rows_avx2>(block, rows);
}

void multiply_few_f16_avx2(const Block& block, int rows) {
  multiply_widened_up_to<FromF16, few_rows_avx2>(block, rows);
}

void multiply_few_s8_avx2(const Block& block, int rows) {
  multiply_widened_up_to<FromS8, few_rows_avx2>(block, rows);
}

void multiply_few_s8s8_avx2(const Block& block, int rows) {
  if (rows == 1) return multiply_bytes<1>(block);
  multiply_bytes<2>(block);
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
