#pragma once

#include "kernels/linear.h"

namespace assay {

/// The same view of a `quantized_linear` call: inputs x, x_scale or absent, Wq s8, w_scale, bias or absent. With
/// x_scale, x is s8 and products are summed in s32; without, x is a float and Wq stands for Wq * w_scale.
LinearCall quantized_linear_call(const Call& call);

}  // namespace assay
