#include "program/operation.h"

namespace assay {
// y = f((xq Wq^T) * x_scale * w_scale + b)
//
// inputs: x (.., in), x_scale (rows) or absent, Wq s8 or e4m3 (out, in), w_scale f32 (out), b (out) or absent.
// With x_scale, x has Wq's dtype, and products are summed in s32 (s8: true int8) or in f32 (e4m3). Without it, x is a
// float and Wq is s8 and dequantised on the fly.
const Operation op::quantized_linear = {
    .name = "quantized_linear",
    .kind = OperationKind::matmul,
    .autocast = Autocast::low_precision,
    .shapes = matmul_shape<2>,
    .flops = matmul_flops<2>,
    .bytes = read_once_write_once,
    .products = ProductShare::all,
};

}  // namespace assay
