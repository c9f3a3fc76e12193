#include "kernels/linear.h"

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/few_rows.h"
#include "kernels/cpu/matmul_codes.h"
#include "kernels/cpu/onednn.h"

namespace assay::cpu {
namespace {

/// Short chunks of K for few rows where the first cache has room for one of the panel beside them: 1.02x to 1.03x at
/// 128 rows on a processor with 48 KiB, 0.98x at 1024. With 32 KiB long ones are faster. The sums are the same.
MatmulCode chunked_f32_code(const LinearCall& linear, const MachineFacts& facts) {
  constexpr std::int64_t few_rows = 256;
  constexpr std::int64_t large_first_cache = 48 << 10;
  constexpr std::int64_t short_chunk = 256;
  MatmulCode code = codes::f32();
  if (linear.rows > few_rows) return code;
  for (const Cache& cache : facts.caches) {
    if (cache.level == 1 && cache.bytes >= large_first_cache) code.chunk = short_chunk;
  }
  return code;
}

/// Weights where oneDNN reads our panels in place, else plain.
Offer onednn_best(const LinearCall& linear, const MachineFacts& facts) {
  Offer packed = prepare_onednn(linear, facts, onednn_panels(linear.weight, linear.in));
  if (std::holds_alternative<Prepared>(packed)) return packed;
  return prepare_onednn(linear, facts, {.kind = Packing::Kind::plain, .dtype = linear.weight});
}

}  // namespace

Offer linear_few_bf16(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = linear_call(call);
  if (!facts.isa.avx512_bf16 || !facts.isa.avx512) return Declined{"no AVX512-BF16 here"};
  if (linear.x != DType::bf16 || linear.weight != DType::bf16) return Declined{"x and weight are not bf16"};
  return prepare_few_rows(linear, facts, codes::few_bf16_dot_products());
}

Offer linear_few_f32(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = linear_call(call);
  if (!facts.isa.avx2) return Declined{"no AVX2 here"};
  if (!is_vector_float(linear.x) || !is_vector_float(linear.weight))
    return Declined{"x or weight is not f32, f16 or bf16"};
  const MatmulCode code = facts.isa.avx512 ? codes::few_f32(linear.weight) : codes::few_f32_avx2(linear.weight);
  return prepare_few_rows(linear, facts, code);
}

Offer linear_bf16_tiles(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = linear_call(call);
  if (!facts.isa.amx_bf16) return Declined{"no AMX-BF16 here"};
  if (linear.x != DType::bf16 || linear.weight != DType::bf16) return Declined{"x and weight are not bf16"};
  return prepare_matmul(linear, facts, codes::bf16_tiles());
}

Offer linear_onednn_tiles(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = linear_call(call);
  if (!facts.isa.amx_bf16) return Declined{"no AMX-BF16 here"};
  if (linear.weight != DType::bf16) return Declined{"the weight is not bf16"};
  if (!linear.constant_weight) return Declined{"products that pack as they run bear other work on the cores better"};
  return onednn_best(linear, facts);
}

Offer linear_bf16(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = linear_call(call);
  if (!facts.isa.avx512_bf16 || !facts.isa.avx512) return Declined{"no AVX512-BF16 here"};
  if (linear.x != DType::bf16 || linear.weight != DType::bf16) return Declined{"x and weight are not bf16"};
  return prepare_matmul(linear, facts, codes::bf16_dot_products());
}

Offer linear_f16_chunks(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = linear_call(call);
  if (linear.accumulator != DType::f16) return Declined{"its f16 sums were not asked for"};
  if (!facts.isa.avx512_fp16 || !facts.isa.avx512) return Declined{"no AVX512-FP16 here"};
  if (linear.x != DType::f16 || linear.weight != DType::f16) return Declined{"x and weight are not f16"};
  return prepare_matmul(linear, facts, codes::f16_chunks(linear.in, linear.chunk));
}

Offer linear_f32(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = linear_call(call);
  if (!facts.isa.avx2) return Declined{"no AVX2 here"};
  if (!is_float(linear.x) || linear.weight != DType::f32) return Declined{"x is no float or the weight is not f32"};
  const MatmulCode code = facts.isa.avx512 ? chunked_f32_code(linear, facts) : codes::f32_avx2();
  return prepare_matmul(linear, facts, code);
}

Offer linear_widened(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = linear_call(call);
  if (!facts.isa.avx2) return Declined{"no AVX2 here"};
  if (linear.weight != DType::bf16 && linear.weight != DType::f16)
    return Declined{"the weight is not stored in 16 bits"};
  if (!is_float(linear.x)) return Declined{"x is not a float"};
  const MatmulCode code = facts.isa.avx512 ? codes::f32_from(linear.weight) : codes::f32_from_avx2(linear.weight);
  return prepare_matmul(linear, facts, code);
}

Offer linear_onednn(const Call& call, const MachineFacts& facts) {
  return onednn_best(linear_call(call), facts);
}

}  // namespace assay::cpu
