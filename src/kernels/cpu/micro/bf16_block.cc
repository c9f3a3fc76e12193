#include <immintrin.h>

#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx512f,avx512bw,avx512vl,avx512bf16")
#include "kernels/cpu/micro/vector_block.h"

namespace assay::cpu::micro {
namespace {

/// Two products and their sum in one instruction; it rounds once, to f32, and takes subnormals for zero.
struct Bf16Pairs {
  using Vector = __m512;
  static constexpr std::int64_t group_bytes = 4;
  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector load(const std::byte* c) { return _mm512_load_ps(c); }
  static void store(std::byte* c, Vector sums) { _mm512_store_ps(c, sums); }
  static __m512i load_weights(const std::byte* panel) { return _mm512_load_si512(panel); }
  static __m512i broadcast(const std::byte* a) {
    int pair;
    __builtin_memcpy(&pair, a, sizeof(pair));
    return _mm512_set1_epi32(pair);
  }
  static Vector multiply_add(Vector sums, __m512i a, __m512i weights) {
    return _mm512_dpbf16_ps(sums, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(weights));
  }
};

}  // namespace

void multiply_bf16(const Block& block, int rows) {
  multiply_up_to<Bf16Pairs, vector_rows>(block, rows);
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
