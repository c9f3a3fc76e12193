#pragma once

#include <cstdint>
#include <span>

#include "hardware/facts.h"

namespace assay {

/// A loop that does nothing but issue one instruction on registers, with enough independent accumulators to hide its
/// latency. Written in assembly so that no optimisation level changes what is counted.
struct PeakLoop {
  DType operand;
  const char* instruction;           ///< "vfmadd231ps zmm".
  const char* set;                   ///< "avx512".
  bool InstructionSets::*needs;      ///< Null: every x86-64 processor has it.
  double operations_per_round;       ///< Multiplications and additions.
  void (*run)(std::int64_t rounds);  ///< rounds > 0. An invalid instruction where `needs` is not there.
};

/// Every loop, of all operand dtypes.
std::span<const PeakLoop> peak_loops();

/// AMX: tdpbf16ps and tdpbusd on full tiles (16 rows of 64 bytes), four accumulators, 16 instructions a round.
void run_tdpbf16ps(std::int64_t rounds);
void run_tdpbusd(std::int64_t rounds);

}  // namespace assay
