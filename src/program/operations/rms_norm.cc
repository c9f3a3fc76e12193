#include "program/gradient.h"
#include "program/operation.h"

namespace assay {
namespace {

/// dx (+ onto) and dgain of a norm of `x` whose gain is input `gain_place`; dx goes to every input before that.
void rms_norm_gradients(GradientBuilder& g, const Node& node, ValueId dy, ValueId x, ValueId onto) {
  const std::size_t gain_place = node.operation == &op::rms_norm ? 1 : 2;
  const std::vector<ValueId> made =
      g.add(op::rms_norm_gradient, {dy, g.saved(x), g.saved(node.inputs[gain_place]), onto}, node.attributes,
            {x, like_wanted(g, node, gain_place)});
  for (std::size_t place = 0; place < gain_place; ++place) g.give(place, made[0]);
  g.give(gain_place, made[1]);
}

void rms_norm_rule(GradientBuilder& g, const Node& node) {
  rms_norm_gradients(g, node, g.of_output(0), node.inputs[0], no_value);
}

/// The sum's own gradient joins the norm's and goes to both.
void add_rms_norm_rule(GradientBuilder& g, const Node& node) {
  if (g.of_output(1) != no_value) return rms_norm_gradients(g, node, g.of_output(1), node.outputs[0], g.of_output(0));
  for (const std::size_t place : {0, 1}) g.give(place, g.of_output(0));
}

std::vector<SymbolicShape> rms_norm_gradient_shapes(const Program& program, const Node& node) {
  return {input(program, node, 1).shape, input(program, node, 2).shape};
}

}  // namespace

// y = x / sqrt(mean(x^2) + epsilon) * gain   (Zhang & Sennrich 2019, eq. 4)
// A gain that is narrower than x is that of every head: each stretch of x that is as wide is normalised by itself.
const Operation op::rms_norm = {
    .name = "rms_norm",
    .kind = OperationKind::norm,
    .autocast = Autocast::full_precision,
    .shapes = same_shape,
    .flops = per_element<4>,
    .bytes = read_once_write_once,
    .gradient = rms_norm_rule,
};

// s = x + y, n = rms_norm(s)
const Operation op::add_rms_norm = {
    .name = "add_rms_norm",
    .kind = OperationKind::norm,
    .autocast = Autocast::full_precision,
    .shapes = sum_and_norm,
    .flops = per_element<5>,
    .bytes = read_once_write_once,
    .gradient = add_rms_norm_rule,
};

// With d = sqrt(mean(x^2) + epsilon), n = x / d, h = dy * gain, means over the last axis:
//   dx = (h - n mean(h n)) / d + onto, dgain = sum over rows of dy n
const Operation op::rms_norm_gradient = {
    .name = "rms_norm_gradient",
    .kind = OperationKind::norm,
    .autocast = Autocast::full_precision,
    .shapes = rms_norm_gradient_shapes,
    .flops = per_element<11>,
    .bytes = read_once_write_once,
    .in_place = 3,
};

}  // namespace assay
