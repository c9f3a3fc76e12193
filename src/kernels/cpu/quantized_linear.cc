#include "kernels/quantized_linear.h"

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/matmul.h"

namespace assay::cpu {
namespace {

/// u8 times s8, four products at a time, stays below 2^31 for this many of them.
constexpr std::int64_t most_s32_products = 65'000;

MatmulCode vnni_code() {
  return {.description = "avx512 vnni u8 x s8",
          .operand = DType::u8,
          .sums = DType::s32,
          .accumulator = DType::s32,
          .group = 4,
          .multiply = micro::multiply_u8s8,
          .block_rows = micro::vector_rows,
          .chunk = 4096,
          .packing = panels_of(DType::s8),
          .widen = nullptr};
}

MatmulCode f32_code() {
  return {.description = "avx512 f32 from s8",
          .operand = DType::f32,
          .sums = DType::f32,
          .accumulator = DType::f32,
          .group = 1,
          .multiply = micro::multiply_f32,
          .block_rows = micro::vector_rows,
          .chunk = 256,
          .packing = panels_of(DType::s8),
          .widen = micro::s8_to_f32};
}

MatmulCode bf16_code() {
  return {.description = "avx512 bf16 dot products from s8",
          .operand = DType::bf16,
          .sums = DType::f32,
          .accumulator = DType::f32,
          .group = 2,
          .multiply = micro::multiply_bf16,
          .block_rows = micro::vector_rows,
          .chunk = 512,
          .packing = panels_of(DType::s8),
          .widen = micro::s8_to_bf16};
}

}  // namespace

Offer quantized_linear_vnni(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!facts.isa.avx512_vnni || !facts.isa.avx512) return Declined{"no AVX512-VNNI here"};
  if (!linear.has_x_scale) return Declined{"x is not quantised"};
  if (linear.in > most_s32_products) return Declined{"sums of so many products may pass 2^31"};
  return prepare_matmul(linear, facts, vnni_code(), judge(DType::s8, facts));
}

Offer quantized_linear_bf16(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!facts.isa.avx512_bf16 || !facts.isa.avx512) return Declined{"no AVX512-BF16 here"};
  if (linear.x != DType::bf16) return Declined{"x is not bf16"};
  if (!bf16_instruction_pays(facts)) return Declined{"its dot products were measured slower than f32"};
  return prepare_matmul(linear, facts, bf16_code(), judge(DType::bf16, facts));
}

Offer quantized_linear_f32(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!facts.isa.avx512) return Declined{"no AVX-512 here"};
  if (linear.has_x_scale) return Declined{"products of s8 in f32 are not int8 arithmetic"};
  return prepare_matmul(linear, facts, f32_code(), judge(DType::f32, facts));
}

}  // namespace assay::cpu
