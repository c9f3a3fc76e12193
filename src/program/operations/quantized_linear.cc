#include "program/operation.h"

namespace assay {
// y = f((xq Wq^T) * x_scale * w_scale + b)
//
// inputs: x (.., in), x_scale (rows) or absent, Wq s8 (out, in), w_scale f32 (out), b (out) or absent.
// With x_scale, x is s8 and the sum is kept in s32 (true int8). Without it, x is a float and Wq is dequantised on the
// fly.
const Operation op::quantized_linear = {
    .name = "quantized_linear",
    .autocast = Autocast::low_precision,
    .shapes = matmul_shape<2>,
    .flops = matmul_flops<2>,
    .bytes = read_once_write_once,
};

}  // namespace assay
