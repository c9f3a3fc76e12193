#include "base/error.h"
#include "program/operation.h"

namespace assay {
namespace {

std::vector<SymbolicShape> shapes(const Program& program, const Node& node) {
  SymbolicShape shape = input(program, node, 0).shape;
  const SymbolicShape& weight = input(program, node, 2).shape;
  ASSAY_ASSERT(weight.size() == 2 && shape.back() == weight[1]);
  shape.back() = weight[0];
  return {shape};
}

double matmul_flops(const Program& program, const Node& node, Extent extent) {
  return 2.0 * input_count(program, node, 0, extent) * static_cast<double>(input(program, node, 2).shape[0].at(extent));
}

}  // namespace

// y = f((xq Wq^T) * x_scale * w_scale + b)
//
// inputs: x (.., in), x_scale (rows) or absent, Wq s8 (out, in), w_scale f32 (out), b (out) or absent.
// With x_scale, x is s8 and the sum is kept in s32 (true int8). Without it, x is a float and Wq is dequantised on the
// fly.
const Operation op::quantized_linear = {
    .name = "quantized_linear",
    .autocast = Autocast::low_precision,
    .shapes = shapes,
    .flops = matmul_flops,
    .bytes = read_once_write_once,
};

}  // namespace assay
