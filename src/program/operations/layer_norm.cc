#include "program/gradient.h"
#include "program/operation.h"

namespace assay {
namespace {

/// dx (+ onto), dgain and dbias of a norm of `x` whose gain is input `gain_place`; dx goes to every input before that.
void layer_norm_gradients(GradientBuilder& g, const Node& node, ValueId dy, ValueId x, ValueId onto) {
  const std::size_t gain_place = node.operation == &op::layer_norm ? 1 : 2;
  const std::vector<ValueId> made =
      g.add(op::layer_norm_gradient, {dy, g.saved(x), g.saved(node.inputs[gain_place]), onto}, node.attributes,
            {x, like_wanted(g, node, gain_place), like_wanted(g, node, gain_place + 1)});
  for (std::size_t place = 0; place < gain_place; ++place) g.give(place, made[0]);
  g.give(gain_place, made[1]);
  g.give(gain_place + 1, made[2]);
}

void layer_norm_rule(GradientBuilder& g, const Node& node) {
  layer_norm_gradients(g, node, g.of_output(0), node.inputs[0], no_value);
}

/// The sum's own gradient joins the norm's and goes to both.
void add_layer_norm_rule(GradientBuilder& g, const Node& node) {
  if (g.of_output(1) != no_value) return layer_norm_gradients(g, node, g.of_output(1), node.outputs[0], g.of_output(0));
  for (const std::size_t place : {0, 1}) g.give(place, g.of_output(0));
}

std::vector<SymbolicShape> layer_norm_gradient_shapes(const Program& program, const Node& node) {
  return {input(program, node, 1).shape, input(program, node, 2).shape, input(program, node, 2).shape};
}

}  // namespace

// y = (x - mean(x)) / sqrt(var(x) + epsilon) * gain + bias   (Ba et al. 2016); statistics over the last axis
const Operation op::layer_norm = {
    .name = "layer_norm",
    .kind = OperationKind::norm,
    .autocast = Autocast::full_precision,
    .shapes = same_shape,
    .flops = per_element<8>,
    .bytes = read_once_write_once,
    .gradient = layer_norm_rule,
};

// s = x + y, n = layer_norm(s)
const Operation op::add_layer_norm = {
    .name = "add_layer_norm",
    .kind = OperationKind::norm,
    .autocast = Autocast::full_precision,
    .shapes = sum_and_norm,
    .flops = per_element<9>,
    .bytes = read_once_write_once,
    .gradient = add_layer_norm_rule,
};

// With n = (x - mean(x)) / d, d = sqrt(var(x) + epsilon), h = dy * gain, means over the last axis:
//   dx = (h - mean(h) - n mean(h n)) / d + onto, dgain = sum over rows of dy n, dbias = sum over rows of dy
const Operation op::layer_norm_gradient = {
    .name = "layer_norm_gradient",
    .kind = OperationKind::norm,
    .autocast = Autocast::full_precision,
    .shapes = layer_norm_gradient_shapes,
    .flops = per_element<16>,
    .bytes = read_once_write_once,
    .in_place = 3,
};

}  // namespace assay
