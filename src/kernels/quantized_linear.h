#pragma once

#include "kernels/linear.h"

namespace assay {

/// The same view of a `quantized_linear` call: inputs x, x_scale or absent, Wq, w_scale, bias or absent. With x_scale,
/// x and Wq are both s8 and products are summed in s32, or both e4m3 and summed in f32; without, x is a float and Wq
/// (s8) stands for Wq * w_scale, or x is s8 too, of one scale that w_scale holds already.
LinearCall quantized_linear_call(const Call& call);

}  // namespace assay
