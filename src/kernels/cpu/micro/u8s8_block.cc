#include <immintrin.h>

#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx512f,avx512bw,avx512vl,avx512vnni")
#include "kernels/cpu/micro/vector_block.h"

namespace assay::cpu::micro {
namespace {

/// Four products of u8 and s8 and their sum in s32; exact.
struct ByteQuads {
  using Vector = __m512i;
  static constexpr std::int64_t group_bytes = 4;
  static Vector zero() { return _mm512_setzero_si512(); }
  static Vector load(const std::byte* c) { return _mm512_load_si512(c); }
  static void store(std::byte* c, Vector sums) { _mm512_store_si512(c, sums); }
  static Vector load_weights(const std::byte* panel) { return _mm512_load_si512(panel); }
  static Vector broadcast(const std::byte* a) {
    int quad;
    __builtin_memcpy(&quad, a, sizeof(quad));
    return _mm512_set1_epi32(quad);
  }
  static Vector multiply_add(Vector sums, Vector a, Vector weights) { return _mm512_dpbusd_epi32(sums, a, weights); }
};

}  // namespace

void multiply_u8s8(const Block& block, int rows) {
  multiply_up_to<ByteQuads, vector_rows>(block, rows);
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
