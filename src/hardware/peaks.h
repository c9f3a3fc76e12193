#pragma once

#include <string>
#include <vector>

#include "hardware/facts.h"

namespace assay {

/// The rate of the fastest instruction for an operand dtype: a loop over registers on all threads, no memory, no tails.
struct InstructionPeak {
  DType operand = DType::f32;
  std::string set;          ///< "avx512_bf16"; empty: this machine has no such instruction, or a cap forbids it.
  std::string instruction;  ///< "vdpbf16ps zmm".
  double gflops = 0;        ///< 10^9 multiplications and additions a second, of all threads together.
};

/// Measures f32, f16, bf16 and s8, about 100 ms for each instruction that `isa` allows, as
/// concurrent_rate measures. `threads` > 0.
std::vector<InstructionPeak> measure_instruction_peaks(const InstructionSets& isa, int threads);

}  // namespace assay
