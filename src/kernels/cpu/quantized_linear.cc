#include "kernels/quantized_linear.h"

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/few_rows.h"
#include "kernels/cpu/matmul_codes.h"
#include "kernels/cpu/matmul_tasks.h"
#include "kernels/verdict.h"

namespace assay::cpu {
namespace {

/// u8 times s8 stays below 2^31 for this many products.
constexpr std::int64_t most_s32_products = 65'000;

/// Why true int8 arithmetic cannot take the call; null where it can.
const char* unfit_for_s32(const LinearCall& linear) {
  if (linear.x != DType::s8) return "x is not s8";
  if (linear.in > most_s32_products) return "sums of so many products may pass 2^31";
  return nullptr;
}

/// Why products of floats cannot take the call; null where they can: weights alone are quantised, or all is e4m3, whose
/// products bf16 and f32 make exactly.
const char* unfit_for_floats(const LinearCall& linear) {
  return linear.x == DType::s8 ? "products of s8 in floats are not int8 arithmetic" : nullptr;
}

const char* unfit_for_bf16(const LinearCall& linear) {
  if (const char* why = unfit_for_floats(linear)) return why;
  return linear.x != DType::bf16 && linear.x != DType::e4m3 ? "x is neither bf16 nor e4m3" : nullptr;
}

}  // namespace

Offer quantized_linear_few_vnni(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!facts.isa.avx512_vnni || !facts.isa.avx512) return Declined{"no AVX512-VNNI here"};
  if (const char* why = unfit_for_s32(linear)) return Declined{why};
  return prepare_few_rows(linear, facts, codes::few_vnni());
}

Offer quantized_linear_few_avx_vnni(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!facts.isa.avx_vnni) return Declined{"no AVX-VNNI here"};
  if (const char* why = unfit_for_s32(linear)) return Declined{why};
  return prepare_few_rows(linear, facts, codes::few_avx_vnni());
}

Offer quantized_linear_few_s8(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!facts.isa.avx2) return Declined{"no AVX2 here"};
  if (const char* why = unfit_for_s32(linear)) return Declined{why};
  return prepare_few_rows(linear, facts, codes::few_s8_avx2());
}

Offer quantized_linear_few_bf16(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!facts.isa.avx512_bf16 || !facts.isa.avx512) return Declined{"no AVX512-BF16 here"};
  if (linear.weight != DType::s8 || linear.x != DType::bf16) return Declined{"it widens s8 beside x of bf16"};
  if (!instruction_pays(DType::bf16, facts)) return Declined{"its dot products were measured slower than f32"};
  return prepare_few_rows(linear, facts, codes::few_bf16_dot_products_from_s8());
}

Offer quantized_linear_few_f32(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!facts.isa.avx2) return Declined{"no AVX2 here"};
  if (linear.weight != DType::s8 || !is_vector_float(linear.x)) return Declined{"it widens s8 beside x of floats"};
  const MatmulCode code = facts.isa.avx512 ? codes::few_f32(linear.weight) : codes::few_f32_avx2(linear.weight);
  return prepare_few_rows(linear, facts, code);
}

Offer quantized_linear_tiles(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!facts.isa.amx_int8) return Declined{"no AMX-INT8 here"};
  if (const char* why = unfit_for_s32(linear)) return Declined{why};
  return prepare_matmul(linear, facts, codes::s8_tiles());
}

Offer quantized_linear_vnni(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!facts.isa.avx512_vnni || !facts.isa.avx512) return Declined{"no AVX512-VNNI here"};
  if (const char* why = unfit_for_s32(linear)) return Declined{why};
  return prepare_matmul(linear, facts, codes::vnni());
}

Offer quantized_linear_avx_vnni(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!facts.isa.avx_vnni) return Declined{"no AVX-VNNI here"};
  if (const char* why = unfit_for_s32(linear)) return Declined{why};
  return prepare_matmul(linear, facts, codes::avx_vnni());
}

Offer quantized_linear_avx2_in_16_bits(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!facts.isa.avx2) return Declined{"no AVX2 here"};
  if (const char* why = unfit_for_s32(linear)) return Declined{why};
  // Each task widens its panels anew, which costs as much as some five of its rows (estimated).
  constexpr std::int64_t rows_worth_widening = 32;
  const MatmulCode code = codes::s8_avx2_in_16_bits();
  if (divide(linear, code, chunk_of(linear, code)).task_rows < rows_worth_widening)
    return Declined{"a task has too few rows to widen a panel for"};
  return prepare_matmul(linear, facts, code);
}

Offer quantized_linear_avx2(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!facts.isa.avx2) return Declined{"no AVX2 here"};
  if (const char* why = unfit_for_s32(linear)) return Declined{why};
  return prepare_matmul(linear, facts, codes::s8_avx2());
}

Offer quantized_linear_bf16_tiles(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!facts.isa.amx_bf16) return Declined{"no AMX-BF16 here"};
  if (const char* why = unfit_for_bf16(linear)) return Declined{why};
  return prepare_matmul(linear, facts, codes::bf16_tiles_from(linear.weight));
}

Offer quantized_linear_bf16(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!facts.isa.avx512_bf16 || !facts.isa.avx512) return Declined{"no AVX512-BF16 here"};
  if (const char* why = unfit_for_bf16(linear)) return Declined{why};
  if (!instruction_pays(DType::bf16, facts)) return Declined{"its dot products were measured slower than f32"};
  return prepare_matmul(linear, facts, codes::bf16_dot_products_from(linear.weight));
}

Offer quantized_linear_f32(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!facts.isa.avx2) return Declined{"no AVX2 here"};
  if (const char* why = unfit_for_floats(linear)) return Declined{why};
  const MatmulCode code = facts.isa.avx512 ? codes::f32_from(linear.weight) : codes::f32_from_avx2(linear.weight);
  return prepare_matmul(linear, facts, code);
}

}  // namespace assay::cpu
