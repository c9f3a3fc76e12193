#include <immintrin.h>

#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx512f,avx512bw,avx512vl,avx512dq,avx512fp16")
#include "kernels/cpu/micro/f16_chunk.h"

namespace assay::cpu::micro {
namespace {

struct F16 {
  using Vector = __m512i;
  static Vector zero() { return _mm512_setzero_si512(); }
  static Vector load_weights(const std::byte* panel) { return _mm512_load_si512(panel); }
  static Vector broadcast(const std::byte* a) {
    short bits;
    __builtin_memcpy(&bits, a, sizeof(bits));
    return _mm512_set1_epi16(bits);
  }
  /// In assembly: clang 14 has no type for 32 f16.
  static Vector multiply_add(Vector sums, Vector a, Vector weights) {
    asm("vfmadd231ph %2, %1, %0" : "+v"(sums) : "v"(a), "v"(weights));
    return sums;
  }
  static void flush(std::byte* c, Vector sums, Sums mode) {
    add(c, _mm512_cvtph_ps(_mm512_castsi512_si256(sums)), mode);
    add(c + 64, _mm512_cvtph_ps(_mm512_extracti64x4_epi64(sums, 1)), mode);
  }

 private:
  static void add(std::byte* c, __m512 sums, Sums mode) {
    _mm512_store_ps(c, mode == Sums::start ? sums : _mm512_add_ps(_mm512_load_ps(c), sums));
  }
};

}  // namespace

void multiply_f16(const Block& block, int rows) {
  multiply_f16_up_to<F16, vector_rows>(block, rows);
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
