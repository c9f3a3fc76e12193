#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

/// A precision as published tables name it.
enum class PrecisionName : std::uint8_t {
  unknown,
  fp32,
  tf32,
  fp16,
  bf16,
  mixed,
  mixed_fp16,
  mixed_bf16,
  int8,
  fp8,
  int4,
  fp4,
  int6,
  int5,
  int3,
  int2
};
const char* name(PrecisionName precision);
/// Bits of a stored weight; 0 for unknown. Mixed keeps 32.
int stored_bits(PrecisionName precision);
/// Bits that its products read: of mixed 16.
int operand_bits(PrecisionName precision);
bool is_mixed(PrecisionName precision);

/// What a cell such as "INT8 (OLD - CPU)", "FP16 as INT8" or "bfloat16" says.
struct PrecisionWords {
  PrecisionName precision = PrecisionName::unknown;
  PrecisionName stands_in = PrecisionName::unknown;  ///< "FP16 as INT8": fp16 ran, int8 is what it is called.
  bool is_on_cpu = false;                            ///< The words name the CPU.
};
PrecisionWords read_precision(std::string_view text);

}  // namespace assay
