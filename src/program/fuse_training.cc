#include <algorithm>

#include "base/error.h"
#include "program/edit.h"
#include "program/passes.h"

namespace assay {
namespace {

/// Operations that add a last input to their first output, and the place of that input.
std::size_t place_of_onto(const Operation* operation) {
  if (operation == &op::linear_input_gradient || operation == &op::embedding_gradient ||
      operation == &op::block_linear_input_gradient)
    return 2;
  if (operation == &op::layer_norm_gradient || operation == &op::rms_norm_gradient ||
      operation == &op::quantized_linear_input_gradient)
    return 3;
  return nowhere;
}

}  // namespace

void gate_two(Program& program) {
  Edit edit(program);
  for (std::size_t i = 0; i < edit.size(); ++i) {
    const Node& product = edit.node(i);
    if (product.operation != &op::multiply) continue;
    const std::size_t f = edit.sole_producer(product.inputs[0], op::activation);
    if (f == nowhere) continue;
    Node gated = product;
    gated.operation = &op::gate;
    gated.inputs[0] = edit.node(f).inputs[0];
    gated.attributes = edit.node(f).attributes;
    edit.remove(f);
    edit.replace(i, {gated});
  }
  edit.apply();
}

void fold_parameter_casts(Program& program) {
  Edit edit(program);
  std::vector<std::size_t> casts(program.values.size(), nowhere);
  std::vector<int> others = use_counts(program);
  for (std::size_t i = 0; i < edit.size(); ++i) {
    Node& node = program.nodes[i];
    if (node.operation == &op::cast && program.value(node.inputs[0]).source == Source::state)
      casts[static_cast<std::size_t>(node.outputs[0])] = i;
    const std::vector<std::size_t> weights = weight_places(node);
    if (weights.empty()) continue;
    const DType operand = program.value(node.inputs[0]).dtype;
    const bool all_cast = std::all_of(weights.begin(), weights.end(), [&](std::size_t place) {
      const ValueId id = node.inputs[place];
      return casts[static_cast<std::size_t>(id)] != nowhere && program.value(id).dtype == operand;
    });
    if (!all_cast) continue;
    node.attributes.operand = operand;
    for (const std::size_t place : weights) {
      ValueId& weight = node.inputs[place];
      const std::size_t cast = casts[static_cast<std::size_t>(weight)];
      if (--others[static_cast<std::size_t>(weight)] == 0) edit.remove(cast);
      weight = edit.node(cast).inputs[0];
    }
  }
  edit.apply();
}

Program fuse_gradients(const Program& program) {
  Program result = program;
  Edit edit(result);
  for (std::size_t i = 0; i < edit.size(); ++i) {
    const Node& sum = edit.node(i);
    if (sum.operation != &op::add || sum.phase != Phase::backward) continue;
    const auto [known, last] = std::pair(sum.inputs[0], sum.inputs[1]);
    if (known == sum.outputs[0]) continue;  // Each part of a step is summed by itself: as ranks would that share it.
    const std::size_t maker = edit.sole_producer(last);
    if (maker == nowhere || result.value(known).dtype != result.value(last).dtype) continue;
    Node& producer = result.nodes[maker];
    const std::size_t place = place_of_onto(producer.operation);
    if (place == nowhere || has_input(producer, place) || producer.outputs[0] != last) continue;
    producer.inputs.resize(place + 1, no_value);
    producer.inputs[place] = known;
    producer.outputs[0] = sum.outputs[0];
    edit.made_by(sum.outputs[0], maker);
    edit.remove(i);
  }
  edit.apply();
  return result;
}

}  // namespace assay
