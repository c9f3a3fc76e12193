#pragma once

#include <cstddef>

#include "tensor/dtype.h"

namespace assay {

/// sum[i] = sum[i] + values[i], each rounded once to `dtype` (f32, bf16 or f16; 16-bit sums are formed in f32 and then
/// rounded, which equals rounding once: Figueroa 1995).
void add_in(DType dtype, const std::byte* values, std::byte* sum, std::size_t count);

/// sum[i] = sum[i] + values[i] in f32; values of `dtype`.
void add_to_f32(DType dtype, const std::byte* values, float* sum, std::size_t count);

}  // namespace assay
