#include <immintrin.h>

#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx512f")
#include "kernels/cpu/micro/vector_block.h"

namespace assay::cpu::micro {
namespace {

struct F32 {
  using Vector = __m512;
  static constexpr std::int64_t group_bytes = 4;
  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector load(const std::byte* c) { return _mm512_load_ps(c); }
  static void store(std::byte* c, Vector sums) { _mm512_store_ps(c, sums); }
  static Vector load_weights(const std::byte* panel) { return _mm512_load_ps(panel); }
  static Vector broadcast(const std::byte* a) { return _mm512_set1_ps(*reinterpret_cast<const float*>(a)); }
  static Vector multiply_add(Vector sums, Vector a, Vector weights) { return _mm512_fmadd_ps(a, weights, sums); }
};

}  // namespace

void multiply_f32(const Block& block, int rows) {
  multiply_up_to<F32, vector_rows>(block, rows);
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
