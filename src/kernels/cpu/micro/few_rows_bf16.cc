#include <immintrin.h>

#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx512f,avx512bw,avx512vl,avx512bf16")
#include "kernels/cpu/micro/few_rows.h"

namespace assay::cpu::micro {
namespace {

/// s8 as pairs of bf16, which hold them exactly. Bytes are widened at the top of their lanes, as 2^24 times their value
/// (one shuffle instead of two shifts); sums are divided by that at their end, which costs no bit.
struct Bf16FromS8 {
  using Vector = __m512;
  static constexpr int lanes = 16;
  static constexpr int steps = 2;
  static constexpr int most_sums = 8;
  static constexpr std::int64_t ahead = 0;
  static constexpr std::int64_t stored_bytes = 64;
  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static void store(std::byte* c, Vector sums) { _mm512_store_ps(c, _mm512_mul_ps(sums, _mm512_set1_ps(0x1p-24F))); }
  static __m512i load(const std::byte* panel) { return _mm512_load_si512(panel); }
  static __m512i broadcast(const std::byte* a) {
    int pair;
    __builtin_memcpy(&pair, a, sizeof(pair));
    return _mm512_set1_epi32(pair);
  }
  static Vector multiply_add(Vector sums, __m512i a, __m512i weights) {
    return _mm512_dpbf16_ps(sums, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(weights));
  }
  /// The upper halves of both f32 of each lane, side by side.
  template <int step>
  static __m512i widen(__m512i quads) {
    const __m512i low = _mm512_srli_epi32(byte<2 * step>(quads), 16);
    return _mm512_mask_blend_epi16(0xaaaaaaaaU, low, byte<2 * step + 1>(quads));
  }

 private:
  template <int place>
  static __m512i byte(__m512i quads) {
    const __m128i to_top = _mm_set_epi32(top_of(place + 12), top_of(place + 8), top_of(place + 4), top_of(place));
    const __m512i top = place == 3 ? _mm512_and_si512(quads, _mm512_set1_epi32(static_cast<int>(0xff000000U)))
                                   : _mm512_shuffle_epi8(quads, _mm512_broadcast_i32x4(to_top));
    return _mm512_castps_si512(_mm512_cvtepi32_ps(top));
  }
  static constexpr int top_of(int byte) { return byte << 24 | 0x808080; }
};

}  // namespace

void multiply_few_s8_bf16(const Block& block, int rows) {
  multiply_widened_up_to<Bf16FromS8, few_rows>(block, rows);
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
