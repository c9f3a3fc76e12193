#include "base/error.h"
#include "program/gradient.h"
#include "program/operation.h"

namespace assay {
namespace {

/// Of x alone: a weight of 8 bits is not trained. Where x was quantised too there is no gradient to give.
void quantized_linear_rule(GradientBuilder& g, const Node& node) {
  ASSAY_ASSERT(node.attributes.activation == Activation::none && !has_input(node, 1));
  give_result(g, node, 0, op::quantized_linear_input_gradient, {g.of_output(0), node.inputs[2], node.inputs[3]});
}

std::vector<SymbolicShape> quantized_gradient_shape(const Program& program, const Node& node) {
  SymbolicShape shape = input(program, node, 0).shape;
  const SymbolicShape& weight = input(program, node, 1).shape;
  ASSAY_ASSERT(shape.back() == weight[0]);
  shape.back() = weight[1];
  ASSAY_ASSERT(!has_input(node, 3) || input(program, node, 3).shape == shape);
  return {shape};
}

double quantized_gradient_flops(const Program& program, const Node& node, Extent extent) {
  return 2.0 * input_count(program, node, 0, extent) * static_cast<double>(input(program, node, 1).shape[1].at(extent));
}

}  // namespace

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
    .gradient = quantized_linear_rule,
    .products = ProductShare::all,
};

// dx = (dy * w_scale) Wq + onto    dy: (.., out), Wq: s8 (out, in), w_scale: f32 (out), onto, dx: (.., in)
const Operation op::quantized_linear_input_gradient = {
    .name = "quantized_linear_input_gradient",
    .kind = OperationKind::matmul,
    .autocast = Autocast::low_precision,
    .shapes = quantized_gradient_shape,
    .flops = quantized_gradient_flops,
    .bytes = read_once_write_once,
    .in_place = 3,
    .products = ProductShare::all,
};

}  // namespace assay
