#pragma once

#include <string>

#include "hardware/facts.h"
#include "kernels/kernel.h"

namespace assay {

/// What was asked of a matrix product and what a kernel makes of it.
struct Products {
  DType asked = DType::f32;     ///< Operand dtype that the precision asks for.
  DType computed = DType::f32;  ///< What the kernel multiplies.
  Arithmetic arithmetic = Arithmetic::instructions;
  KernelKey kernel;                ///< Of no operation where no rate of it counts here.
  DType accumulator = DType::f32;  ///< What it adds in.
};

struct ProductVerdict {
  Verdict verdict = Verdict::unsupported;
  std::string evidence;  ///< One sentence with the figures.
};

/// The one verdict on a product, for the ledger and for probe alike:
///
///   native       the dtype's instruction exists and multiplies, at 0.9x fp32's best matmul or more where measured
///   slow         it multiplies, slower than that; or f32 in plain loops
///   widened      it exists, but f32 from narrower storage multiplies, which was measured as fast or faster
///   emulated     no such instruction: another dtype, or other instructions, stand in
///   unsupported  no kernel (verdict_of_dtype only)
///
/// The rate is that of the kernel that ran; where it was not measured by itself (attention), the best of its dtype is
/// named as such; of sums in f16, which no timed matmul has, the instruction's, against f32's instruction. Pure.
ProductVerdict verdict_of(const Products& products, const MachineFacts& facts);
/// The same for the kernel that is asked first for such operands (MatmulPeak::rates); what probe says of a dtype.
ProductVerdict verdict_of_dtype(DType operand, const MachineFacts& facts);
/// That of every peak of the facts; all are there already, since verdicts compare with f32.
void set_verdicts(MachineFacts& facts);

/// The instruction set that multiplies the dtype here ("avx512_bf16"; of a GPU "mma bf16"); null where none does.
const char* instruction_set(DType operand, const MachineFacts& facts);
/// Whether products in the dtype's own instruction are worth it: as measured against f32 from the same storage, else
/// yes where there is one.
bool instruction_pays(DType operand, const MachineFacts& facts);

/// What a dtype lies in memory as: tf32 as f32, others as themselves.
constexpr DType stored_as(DType dtype) {
  return dtype == DType::tf32 ? DType::f32 : dtype;
}

/// Whether the call multiplies matrices.
bool is_product(const Call& call);
/// The operand dtype that such a call asks for: of what is quantised what x has (8 bits, or a float where only the
/// weights are quantised), else the dtype of the weight (or what it is rounded to) or of the first operand. f32 beside
/// tf32 is multiplied as tf32.
DType asked_operand(const Call& call);

}  // namespace assay
