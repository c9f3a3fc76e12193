#include "kernels/block_linear.h"

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/matmul_codes.h"
#include "kernels/verdict.h"

namespace assay::cpu {

Offer block_linear_bf16_tiles(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = block_linear_call(call);
  if (!facts.isa.amx_bf16 || !facts.isa.avx512_bf16) return Declined{"no AMX-BF16 here"};
  if (linear.x != DType::bf16) return Declined{"x is not bf16"};
  return prepare_matmul(linear, facts, codes::from_blocks(codes::bf16_tiles(), *linear.blocks));
}

Offer block_linear_bf16(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = block_linear_call(call);
  if (!facts.isa.avx512_bf16 || !facts.isa.avx512) return Declined{"no AVX512-BF16 here"};
  if (linear.x != DType::bf16) return Declined{"x is not bf16"};
  if (!instruction_pays(DType::bf16, facts)) return Declined{"its dot products were measured slower than f32"};
  return prepare_matmul(linear, facts, codes::from_blocks(codes::bf16_dot_products(), *linear.blocks));
}

Offer block_linear_f32(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = block_linear_call(call);
  if (!facts.isa.avx2) return Declined{"no AVX2 here"};
  const MatmulCode code = facts.isa.avx512 ? codes::f32() : codes::f32_avx2();
  return prepare_matmul(linear, facts, codes::from_blocks(code, *linear.blocks));
}

}  // namespace assay::cpu
