#include "kernels/linear.h"

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/onednn.h"

namespace assay::cpu {
namespace {

// Chunks of K are about as long as one panel and a block of rows fill the second cache's fast part; widened panels stay
// in the first one.
constexpr std::int64_t long_chunk_groups = 1024;
constexpr std::int64_t widened_chunk = 256;

MatmulCode f32_code() {
  return {.description = "avx512 f32",
          .operand = DType::f32,
          .sums = DType::f32,
          .accumulator = DType::f32,
          .group = 1,
          .multiply = micro::multiply_f32,
          .block_rows = micro::vector_rows,
          .chunk = long_chunk_groups,
          .packing = panels_of(DType::f32),
          .widen = nullptr};
}

MatmulCode bf16_code() {
  return {.description = "avx512 bf16 dot products",
          .operand = DType::bf16,
          .sums = DType::f32,
          .accumulator = DType::f32,
          .group = 2,
          .multiply = micro::multiply_bf16,
          .block_rows = micro::vector_rows,
          .chunk = long_chunk_groups * 2,
          .packing = panels_of(DType::bf16),
          .widen = nullptr};
}

MatmulCode widened_code(DType stored) {
  MatmulCode code = f32_code();
  code.description = stored == DType::f16 ? "avx512 f32 from f16" : "avx512 f32 from bf16";
  code.chunk = widened_chunk;
  code.packing = panels_of(stored);
  code.widen = stored == DType::f16 ? micro::f16_to_f32 : micro::bf16_to_f32;
  return code;
}

}  // namespace

Offer linear_f32(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = linear_call(call);
  if (!facts.isa.avx512) return Declined{"no AVX-512 here"};
  if (!is_float(linear.x) || linear.weight != DType::f32) return Declined{"x is no float or the weight is not f32"};
  return prepare_matmul(linear, facts, f32_code(), judge(DType::f32, facts));
}

Offer linear_bf16(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = linear_call(call);
  if (!facts.isa.avx512_bf16 || !facts.isa.avx512) return Declined{"no AVX512-BF16 here"};
  if (linear.x != DType::bf16 || linear.weight != DType::bf16) return Declined{"x and weight are not bf16"};
  if (!bf16_instruction_pays(facts)) return Declined{"its dot products were measured slower than f32"};
  return prepare_matmul(linear, facts, bf16_code(), judge(DType::bf16, facts));
}

Offer linear_widened(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = linear_call(call);
  if (!facts.isa.avx512) return Declined{"no AVX-512 here"};
  if (linear.weight != DType::bf16 && linear.weight != DType::f16)
    return Declined{"the weight is not stored in 16 bits"};
  if (!is_float(linear.x)) return Declined{"x is not a float"};
  return prepare_matmul(linear, facts, widened_code(linear.weight), judge_widened(linear.weight, facts));
}

Offer linear_onednn_packed(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = linear_call(call);
  const Packing panels = onednn_panels(linear.weight, linear.in);
  if (panels.kind == Packing::Kind::plain) return Declined{"the input width does not fill whole blocks"};
  return prepare_onednn(linear, facts, panels);
}

Offer linear_onednn(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = linear_call(call);
  return prepare_onednn(linear, facts, {.kind = Packing::Kind::plain, .dtype = linear.weight});
}

}  // namespace assay::cpu
