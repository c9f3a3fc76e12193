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

}  // namespace assay
