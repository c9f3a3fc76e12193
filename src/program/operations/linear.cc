#include "base/error.h"
#include "program/gradient.h"
#include "program/operation.h"

namespace assay {
namespace {

/// dx = dy W, dW = dy^T x, db = the sum of dy's rows
void linear_rule(GradientBuilder& g, const Node& node) {
  ASSAY_ASSERT(node.attributes.activation == Activation::none);
  const ValueId dy = g.of_output(0);
  Attributes attributes;
  attributes.operand = node.attributes.operand;
  give_result(g, node, 0, op::linear_input_gradient, {dy, g.saved(node.inputs[1])}, attributes);
  give_result(g, node, 1, op::linear_weight_gradient, {dy, g.saved(node.inputs[0])});
  if (has_input(node, 2)) give_result(g, node, 2, op::sum_rows, {dy});
}

std::vector<SymbolicShape> input_gradient_shape(const Program& program, const Node& node) {
  SymbolicShape shape = input(program, node, 0).shape;
  const SymbolicShape& weight = input(program, node, 1).shape;
  ASSAY_ASSERT(shape.back() == weight[0]);
  shape.back() = weight[1];
  ASSAY_ASSERT(!has_input(node, 2) || input(program, node, 2).shape == shape);
  return {shape};
}

double input_gradient_flops(const Program& program, const Node& node, Extent extent) {
  return 2.0 * input_count(program, node, 0, extent) * static_cast<double>(input(program, node, 1).shape[1].at(extent));
}

std::vector<SymbolicShape> weight_gradient_shape(const Program& program, const Node& node) {
  const SymbolicShape& dy = input(program, node, 0).shape;
  const SymbolicShape& x = input(program, node, 1).shape;
  ASSAY_ASSERT(rows(dy) == rows(x));
  return {{dy.back(), x.back()}};
}

double weight_gradient_flops(const Program& program, const Node& node, Extent extent) {
  return 2.0 * input_count(program, node, 0, extent) * static_cast<double>(input(program, node, 1).shape.back().factor);
}

std::vector<SymbolicShape> last_axis(const Program& program, const Node& node) {
  return {{input(program, node, 0).shape.back()}};
}

}  // namespace

// y = f(x W^T + b)    x: (.., in), W: (out, in), b: (out), y: (.., out); f is attributes.activation
const Operation op::linear = {
    .name = "linear",
    .kind = OperationKind::matmul,
    .autocast = Autocast::low_precision,
    .shapes = matmul_shape<1>,
    .flops = matmul_flops<1>,
    .bytes = read_once_write_once,
    .gradient = linear_rule,
    .products = ProductShare::all,
};

// dx = dy W + onto    dy: (.., out), W: (out, in), onto, dx: (.., in)
const Operation op::linear_input_gradient = {
    .name = "linear_input_gradient",
    .kind = OperationKind::matmul,
    .autocast = Autocast::low_precision,
    .shapes = input_gradient_shape,
    .flops = input_gradient_flops,
    .bytes = read_once_write_once,
    .in_place = 2,
    .products = ProductShare::all,
};

// dW = dy^T x    dy: (.., out), x: (.., in), dW: (out, in)
const Operation op::linear_weight_gradient = {
    .name = "linear_weight_gradient",
    .kind = OperationKind::matmul,
    .autocast = Autocast::low_precision,
    .shapes = weight_gradient_shape,
    .flops = weight_gradient_flops,
    .bytes = read_once_write_once,
    .products = ProductShare::all,
};

// The sum over all axes but the last    dy: (.., d) -> (d)
const Operation op::sum_rows = {
    .name = "sum_rows",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = last_axis,
    .flops = per_element<1>,
    .bytes = read_once_write_once,
};

}  // namespace assay
