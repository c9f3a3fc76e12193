#pragma once

#include <cstddef>

namespace assay {

/// Q4_1 (ggml_blocks.h): 32 values as d q + m, q from 0 to 15, d and m searched for the least sum of squared errors.
/// Values that are not finite give the scale NaN.
void make_q4_1(const float* x, std::byte* block);

}  // namespace assay
