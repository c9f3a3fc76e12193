#include "kernels/block_linear.h"

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/matmul_codes.h"
#include "kernels/verdict.h"

namespace assay::cpu {
namespace {

/// As many rows as loops over stripes take at once: with more, a stretch that is widened once for all of them is
/// faster.
constexpr std::int64_t few_rows = micro::float_stripe_rows;

/// Why codes are not multiplied straight from their stripes; null where they can be.
const char* unfit_for_few_rows(const LinearCall& linear) {
  if (linear.rows > few_rows) return "there are more than a few rows";
  return stripe_layout(*linear.blocks) ? nullptr : "its blocks are not laid out for it";
}

}  // namespace

Offer block_linear_few_bf16(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = block_linear_call(call);
  if (!facts.isa.avx512_bf16 || !facts.isa.avx512) return Declined{"no AVX512-BF16 here"};
  if (linear.x != DType::bf16) return Declined{"x is not bf16"};
  if (const char* why = unfit_for_few_rows(linear)) return Declined{why};
  if (stripe_layout(*linear.blocks)->bits != 4) return Declined{"it takes codes of 4 bits"};
  return prepare_stripes(linear, facts, codes::stripes_bf16());
}

Offer block_linear_few_f32(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = block_linear_call(call);
  if (!facts.isa.avx2) return Declined{"no AVX2 here"};
  if (micro::zero_of_small_codes(*linear.blocks) && linear.rows <= few_rows)
    return prepare_stripes(linear, facts, codes::small_codes_pieces());
  if (const char* why = unfit_for_few_rows(linear)) return Declined{why};
  const StripeLayout layout = *stripe_layout(*linear.blocks);
  if (facts.isa.avx512) return prepare_stripes(linear, facts, codes::stripes_f32(layout));
  return prepare_stripes(linear, facts, layout.bits == 4 ? codes::stripes_pieces_avx2() : codes::stripes_f32_avx2());
}

Offer quantized_block_linear_few(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_block_linear_call(call);
  if (!facts.isa.avx2) return Declined{"no AVX2 here"};
  if (linear.rows > few_rows) return Declined{"there are more than a few rows"};
  return prepare_stripes(linear, facts, codes::small_codes());
}

Offer quantized_block_linear_vnni(const Call& call, const MachineFacts& facts) {
  if (!facts.isa.avx512_vnni || !facts.isa.avx512) return Declined{"no AVX512-VNNI here"};
  return prepare_stripes(quantized_block_linear_call(call), facts, codes::stripes_vnni());
}

Offer quantized_block_linear_avx_vnni(const Call& call, const MachineFacts& facts) {
  if (!facts.isa.avx_vnni) return Declined{"no AVX-VNNI here"};
  return prepare_stripes(quantized_block_linear_call(call), facts, codes::stripes_avx_vnni());
}

Offer quantized_block_linear_avx2(const Call& call, const MachineFacts& facts) {
  if (!facts.isa.avx2) return Declined{"no AVX2 here"};
  return prepare_stripes(quantized_block_linear_call(call), facts, codes::stripes_maddubs());
}

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
