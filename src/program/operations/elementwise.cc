#include "program/gradient.h"
#include "program/operation.h"

namespace assay {
namespace {

void add_rule(GradientBuilder& g, const Node&) {
  for (const std::size_t place : {0, 1}) g.give(place, g.of_output(0));
}

void multiply_rule(GradientBuilder& g, const Node& node) {
  give_result(g, node, 0, op::multiply, {g.of_output(0), g.saved(node.inputs[1])});
  give_result(g, node, 1, op::multiply, {g.of_output(0), g.saved(node.inputs[0])});
}

/// dx = scale dy
void affine_rule(GradientBuilder& g, const Node& node) {
  give_result(g, node, 0, op::affine, {g.of_output(0)}, {.scale = node.attributes.scale});
}

void soft_cap_rule(GradientBuilder& g, const Node& node) {
  give_result(g, node, 0, op::soft_cap_gradient, {g.of_output(0), g.saved(node.outputs[0])}, node.attributes);
}

}  // namespace

// z = x + y
const Operation op::add = {
    .name = "add",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = two_alike,
    .flops = per_element<1>,
    .bytes = read_once_write_once,
    .gradient = add_rule,
    .in_place = 0,
};

// z = x * y
const Operation op::multiply = {
    .name = "multiply",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = two_alike,
    .flops = per_element<1>,
    .bytes = read_once_write_once,
    .gradient = multiply_rule,
};

// y = scale x + shift
const Operation op::affine = {
    .name = "affine",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = same_shape,
    .flops = per_element<2>,
    .bytes = read_once_write_once,
    .gradient = affine_rule,
    .in_place = 0,
};

// y = cap tanh(x / cap)    (Bello et al. 2016, "logit clipping")
const Operation op::soft_cap = {
    .name = "soft_cap",
    .kind = OperationKind::activation,
    .autocast = Autocast::widest,
    .shapes = same_shape,
    .flops = per_element<8>,
    .bytes = read_once_write_once,
    .gradient = soft_cap_rule,
    .in_place = 0,
};

// dx = dy (1 - (y / cap)^2)
const Operation op::soft_cap_gradient = {
    .name = "soft_cap_gradient",
    .kind = OperationKind::activation,
    .autocast = Autocast::widest,
    .shapes = same_shape,
    .flops = per_element<4>,
    .bytes = read_once_write_once,
    .in_place = 0,
};

}  // namespace assay
