#include <immintrin.h>

#include "kernels/cpu/micro/block.h"
#include "kernels/cpu/micro/stripes.h"
#include "kernels/cpu/micro/target.h"

ASSAY_TARGET("avx2,fma,f16c,avxvnni")
#include "kernels/cpu/micro/byte_registers.h"
#include "kernels/cpu/micro/half_panel.h"
#include "kernels/cpu/micro/integer_stripes_avx2.h"

namespace assay::cpu::micro {
namespace {

/// Four products of u8 and s8 a sum, exact: vpdpbusd in the encoding of AVX2.
struct VnniQuads : S32Sums {
  static Vector multiply_add(Vector sums, Vector a, Vector weights) {
    return _mm256_dpbusd_avx_epi32(sums, a, weights);
  }
};

}  // namespace

void multiply_u8s8_avx_vnni(const Block& block, int rows) {
  multiply_halves_up_to<VnniQuads, avx2_rows>(block, rows);
}

void multiply_stripes_avx_vnni(const StripeBlock& block, int rows) {
  multiply_integer_stripes<DotProducts<VnniQuads>>(block, rows);
}

}  // namespace assay::cpu::micro
ASSAY_TARGET_END
