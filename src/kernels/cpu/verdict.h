#pragma once

#include <string>

#include "hardware/facts.h"

namespace assay::cpu {

struct Judgement {
  Verdict verdict = Verdict::native;
  std::string evidence;
};

/// What stands behind a matmul whose instruction multiplies that dtype: as measured where it was, else by the
/// instruction sets.
Judgement judge(DType operand, const MachineFacts& facts);

/// The same for operands that are stored in `stored` and multiplied in f32 (or, 8-bit weights, in what x has).
Judgement judge_widened(DType stored, const MachineFacts& facts);

/// Whether the machine multiplies bf16 in an instruction that keeps up with f32: as measured, else yes where there is
/// one.
bool bf16_instruction_pays(const MachineFacts& facts);

}  // namespace assay::cpu
