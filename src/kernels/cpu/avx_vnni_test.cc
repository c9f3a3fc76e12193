#include <gtest/gtest.h>
#include <immintrin.h>

#include "hardware/machine.h"
#include "kernels/block_linear.h"
#include "kernels/contract.h"
#include "kernels/cpu/matmul_codes.h"
#include "kernels/cpu/micro/stripes.h"
#include "kernels/cpu/micro/target.h"
#include "kernels/quantized_linear.h"

ASSAY_TARGET("avx2,fma,f16c")
#include "kernels/cpu/micro/byte_registers.h"
#include "kernels/cpu/micro/half_panel.h"
#include "kernels/cpu/micro/integer_stripes_avx2.h"

namespace assay::cpu {
namespace micro {
namespace {

/// vpdpbusd as the Intel SDM has it, for machines without: four products of u8 and s8, added without saturation.
struct SimulatedQuads : S32Sums {
  static Vector multiply_add(Vector sums, Vector bytes, Vector signed_bytes) {
    return _mm256_add_epi32(sums, _mm256_add_epi32(of_bytes(bytes, signed_bytes, 0), of_bytes(bytes, signed_bytes, 8)));
  }

 private:
  /// Of every second byte, in 16 bits: products and the sum of two, in 32.
  static Vector of_bytes(Vector bytes, Vector signed_bytes, int first_bit) {
    const Vector low = _mm256_srli_epi16(_mm256_slli_epi16(bytes, 8 - first_bit), 8);
    const Vector signed_low = _mm256_srai_epi16(_mm256_slli_epi16(signed_bytes, 8 - first_bit), 8);
    return _mm256_madd_epi16(low, signed_low);
  }
};

void multiply_simulated_quads(const Block& block, int rows) {
  multiply_halves_up_to<SimulatedQuads, avx2_rows>(block, rows);
}

void multiply_simulated_stripes(const StripeBlock& block, int rows) {
  multiply_integer_stripes<DotProducts<SimulatedQuads>>(block, rows);
}

}  // namespace
}  // namespace micro
}  // namespace assay::cpu
ASSAY_TARGET_END

namespace assay::cpu {
namespace {

Offer prepare_simulated(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (linear.x != DType::s8) return Declined{"x is not s8"};
  MatmulCode code = codes::avx_vnni();
  code.multiply = micro::multiply_simulated_quads;
  return prepare_matmul(linear, facts, code);
}

Offer prepare_simulated_stripes(const Call& call, const MachineFacts& facts) {
  StripeCode code = codes::stripes_avx_vnni();
  code.multiply = micro::multiply_simulated_stripes;
  return prepare_stripes(quantized_block_linear_call(call), facts, code);
}

/// The loops keep the contract with an instruction that this machine need not have.
void expect_kept(const Operation& operation, const Implementation& simulated) {
  const MachineFacts facts = read_machine_facts();
  if (!facts.isa.avx2) GTEST_SKIP() << "no AVX2 here";
  int ran = 0;
  for (const contract::Case& one : contract::cases_of(operation)) {
    const contract::Outcome outcome = contract::CaseRun(one).compare(simulated, facts);
    EXPECT_EQ(outcome.broken, "") << one.label;
    ran += outcome.ran ? 1 : 0;
  }
  EXPECT_GT(ran, 10) << operation.name;
}

TEST(AvxVnni, ProductsOfRowsKeepTheContract) {
  expect_kept(op::quantized_linear, {"simulated avx-vnni", prepare_simulated});
}

TEST(AvxVnni, ProductsOfBlocksKeepTheContract) {
  expect_kept(op::quantized_block_linear, {"simulated avx-vnni", prepare_simulated_stripes});
}

}  // namespace
}  // namespace assay::cpu
