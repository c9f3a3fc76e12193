#include "base/error.h"
#include "program/gradient.h"
#include "program/operation.h"

namespace assay {
namespace {

std::vector<SymbolicShape> half_width(const Program& program, const Node& node) {
  SymbolicShape shape = input(program, node, 0).shape;
  ASSAY_ASSERT(shape.back().factor % 2 == 0);
  shape.back().factor /= 2;
  return {shape};
}

void activation_rule(GradientBuilder& g, const Node& node) {
  give_result(g, node, 0, op::activation_gradient, {g.of_output(0), g.saved(node.inputs[0])}, node.attributes);
}

void gate_rule(GradientBuilder& g, const Node& node) {
  const std::vector<ValueId> made =
      g.add(op::gate_gradient, {g.of_output(0), g.saved(node.inputs[0]), g.saved(node.inputs[1])}, node.attributes,
            {like_wanted(g, node, 0), like_wanted(g, node, 1)});
  g.give(0, made[0]);
  g.give(1, made[1]);
}

std::vector<SymbolicShape> of_both_inputs(const Program& program, const Node& node) {
  return {input(program, node, 1).shape, input(program, node, 2).shape};
}

}  // namespace

// y = f(x), element by element; f is attributes.activation
const Operation op::activation = {
    .name = "activation",
    .kind = OperationKind::activation,
    .autocast = Autocast::widest,
    .shapes = same_shape,
    .flops = per_element<8>,
    .bytes = read_once_write_once,
    .gradient = activation_rule,
};

// dx = dy f'(x)
const Operation op::activation_gradient = {
    .name = "activation_gradient",
    .kind = OperationKind::activation,
    .autocast = Autocast::widest,
    .shapes = same_shape,
    .flops = per_element<12>,
    .bytes = read_once_write_once,
    .in_place = 0,
};

// z = f(x) * y
const Operation op::gate = {
    .name = "gate",
    .kind = OperationKind::activation,
    .autocast = Autocast::widest,
    .shapes = two_alike,
    .flops = per_element<9>,
    .bytes = read_once_write_once,
    .gradient = gate_rule,
};

// dx = dz y f'(x), dy = dz f(x)
const Operation op::gate_gradient = {
    .name = "gate_gradient",
    .kind = OperationKind::activation,
    .autocast = Autocast::widest,
    .shapes = of_both_inputs,
    .flops = per_element<15>,
    .bytes = read_once_write_once,
    .in_place = 0,
};

// z = h sigmoid(scale h) (1 + u), h = min(x, cap), u = y within [-cap, cap]    the gate of gpt-oss's experts
const Operation op::clamped_gate = {
    .name = "clamped_gate",
    .kind = OperationKind::activation,
    .autocast = Autocast::widest,
    .shapes = two_alike,
    .flops = per_element<14>,
    .bytes = read_once_write_once,
    .in_place = 0,
};

// y = f(x[.., : w]) * x[.., w :]    x: (.., 2w), y: (.., w); f is attributes.activation (Shazeer 2020)
const Operation op::gated_activation = {
    .name = "gated_activation",
    .kind = OperationKind::activation,
    .autocast = Autocast::widest,
    .shapes = half_width,
    .flops = per_element<5>,
    .bytes = read_once_write_once,
};

}  // namespace assay
