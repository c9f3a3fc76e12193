#pragma once

#include <string>

#include "hardware/facts.h"

namespace assay {

/// What is known about matmuls with one operand dtype on one machine.
struct MatmulEvidence {
  DType operand = DType::f32;
  std::string set;                ///< Instruction set with such an instruction ("amx_bf16"); empty: none, or capped.
  double instruction_gflops = 0;  ///< Its measured peak.
  double native_gflops = 0;       ///< The best matmul that multiplies operands of this dtype; 0: none was measured.
  double matmul_gflops = 0;       ///< The best matmul of all that take these operands; 0: no kernel does.
  DType computed = DType::f32;    ///< What that best one multiplies.
  std::string kernel;             ///< Its name.
  double fp32_gflops = 0;         ///< The best f32 matmul on the same machine.
  std::string cap;                ///< Of the instruction set, empty if none.
};

struct Judgement {
  Verdict verdict = Verdict::unsupported;
  std::string evidence;  ///< One sentence with the figures.
};

/// The verdict on an operand dtype:
///   native       the instruction exists and its matmul was measured at 0.9x fp32 or more
///   slow         it exists, its matmul is slower than that, and still the best there is
///   widened      it exists, but computing in f32 from 16-bit storage was measured faster
///   emulated     no such instruction, computed in another dtype
///   unsupported  no kernel
/// Pure. f32 is native by definition: the ratios are to it.
Judgement judge(const MatmulEvidence& found);

}  // namespace assay
