#include <immintrin.h>

#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx512f,avx512bw,avx512vl")
#include "kernels/cpu/micro/few_rows.h"

namespace assay::cpu::micro {
namespace {

struct WideRegisters {
  using Vector = __m512;
  static constexpr int lanes = 16;
  static constexpr int most_sums = 16;
  static constexpr std::int64_t ahead = 0;
  static constexpr std::int64_t stored_bytes = 64;
  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static void store(std::byte* c, Vector sums) { _mm512_store_ps(c, sums); }
  static Vector broadcast(const std::byte* a) { return _mm512_set1_ps(*reinterpret_cast<const float*>(a)); }
  static Vector multiply_add(Vector sums, Vector a, Vector weights) { return _mm512_fmadd_ps(a, weights, sums); }
  static __m512i load(const std::byte* panel) { return _mm512_load_si512(panel); }
};

struct FromF32 : WideRegisters {
  static constexpr int steps = 1;
  template <int>
  static Vector widen(__m512i stored) {
    return _mm512_castsi512_ps(stored);
  }
};

struct FromBf16 : WideRegisters {
  static constexpr int steps = 2;
  template <int step>
  static Vector widen(__m512i pairs) {
    return _mm512_castsi512_ps(step == 0 ? _mm512_slli_epi32(pairs, 16)
                                         : _mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xffff0000U))));
  }
};

struct FromF16 : WideRegisters {
  static constexpr int steps = 1;
  static constexpr std::int64_t stored_bytes = 32;
  static __m256i load(const std::byte* panel) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(panel)); }
  template <int>
  static Vector widen(__m256i stored) {
    return _mm512_cvtph_ps(stored);
  }
};

/// 2^24 times the value: a byte at the top of its lane takes one shuffle instead of two shifts. Sums are divided by
/// that at their end, which costs no bit (and leaves room for x up to 2^80).
struct FromS8 : WideRegisters {
  static constexpr int steps = 4;
  template <int step>
  static Vector widen(__m512i quads) {
    if (step == 3) return _mm512_cvtepi32_ps(_mm512_and_si512(quads, _mm512_set1_epi32(static_cast<int>(0xff000000U))));
    const __m128i to_top = _mm_set_epi32(top_of(step + 12), top_of(step + 8), top_of(step + 4), top_of(step));
    return _mm512_cvtepi32_ps(_mm512_shuffle_epi8(quads, _mm512_broadcast_i32x4(to_top)));
  }
  static void store(std::byte* c, Vector sums) {
    WideRegisters::store(c, _mm512_mul_ps(sums, _mm512_set1_ps(0x1p-24F)));
  }

 private:
  static constexpr int top_of(int byte) { return byte << 24 | 0x808080; }
};

}  // namespace

void multiply_few_f32(const Block& block, int rows) {
  multiply_widened_up_to<FromF32, few_rows>(block, rows);
}

void multiply_few_bf16(const Block& block, int rows) {
  multiply_widened_up_to<FromBf16, few_rows>(block, rows);
}

void multiply_few_f16(const Block& block, int rows) {
  multiply_widened_up_to<FromF16, few_rows>(block, rows);
}

void multiply_few_s8(const Block& block, int rows) {
  multiply_widened_up_to<FromS8, few_rows>(block, rows);
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
