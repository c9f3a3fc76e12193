#include <algorithm>

#include "base/error.h"
#include "program/gradient.h"
#include "program/operation.h"

namespace assay {
namespace {

std::vector<SymbolicShape> route_shapes(const Program& program, const Node& node) {
  SymbolicShape chosen = input(program, node, 0).shape;
  ASSAY_ASSERT(chosen.back().factor == node.attributes.experts);
  chosen.back() = dim(node.attributes.active_experts);
  return {chosen, chosen};
}

/// As many rows as tokens have experts.
Dim grouped(const SymbolicShape& chosen) {
  return rows(chosen) * chosen.back();
}

std::vector<SymbolicShape> group_shapes(const Program& program, const Node& node) {
  const Dim count = grouped(input(program, node, 1).shape);
  return {{count, input(program, node, 0).shape.back()}, {count}, {dim(node.attributes.experts + 1)}};
}

std::vector<SymbolicShape> merge_shapes(const Program& program, const Node& node) {
  SymbolicShape merged = input(program, node, 2).shape;
  ASSAY_ASSERT(input(program, node, 0).shape[0] == grouped(merged));
  merged.back() = input(program, node, 0).shape.back();
  return {merged};
}

std::vector<SymbolicShape> expert_shape(const Program& program, const Node& node) {
  const ExpertPlaces places = *expert_places(*node.operation);
  const SymbolicShape& weight = input(program, node, places.first).shape;
  for (std::size_t i = places.first; i < node.inputs.size(); i += places.each)
    ASSAY_ASSERT(input(program, node, i).shape == weight);
  return {{input(program, node, 0).shape[0], weight[0]}};
}

std::vector<SymbolicShape> expert_input_gradient_shape(const Program& program, const Node& node) {
  const SymbolicShape& weight = input(program, node, expert_places(*node.operation)->first).shape;
  ASSAY_ASSERT(input(program, node, 0).shape.back() == weight[0]);
  return {{input(program, node, 0).shape[0], weight[1]}};
}

std::vector<SymbolicShape> expert_weight_gradient_shapes(const Program& program, const Node& node) {
  const SymbolicShape weight = {input(program, node, 0).shape.back(), input(program, node, 1).shape.back()};
  return std::vector<SymbolicShape>(static_cast<std::size_t>(node.attributes.experts), weight);
}

std::vector<SymbolicShape> ungrouped_shape(const Program& program, const Node& node) {
  SymbolicShape x = input(program, node, 2).shape;
  x.back() = input(program, node, 0).shape.back();
  return {x};
}

/// Those of the logits.
std::vector<SymbolicShape> route_gradient_shape(const Program& program, const Node& node) {
  return {input(program, node, 1).shape};
}

std::vector<SymbolicShape> merge_gradient_shapes(const Program& program, const Node& node) {
  return {input(program, node, 1).shape, input(program, node, 3).shape};
}

/// Through the softmax over all experts, or over those that were taken; which ones they are has no gradient.
void route_rule(GradientBuilder& g, const Node& node) {
  give_result(g, node, 0, op::route_gradient,
              {g.of_output(0), g.saved(node.inputs[0]), g.saved(node.outputs[0]), g.saved(node.outputs[1])},
              node.attributes);
}

/// dx = the sum of the gradients of a token's rows
void group_rule(GradientBuilder& g, const Node& node) {
  give_result(g, node, 0, op::group_rows_gradient, {g.of_output(0), g.saved(node.outputs[1]), g.saved(node.inputs[1])});
}

/// As of a linear, by the rows of each expert; the weights of one without rows get zeros.
void expert_linear_rule(GradientBuilder& g, const Node& node) {
  const ExpertPlaces places = *expert_places(*node.operation);
  const ValueId dy = g.of_output(0);
  const ValueId offsets = g.saved(node.inputs[places.offsets]);
  Attributes attributes;
  attributes.operand = node.attributes.operand;
  std::vector<ValueId> of_input = {dy, offsets};
  std::vector<ValueId> likes;
  const std::vector<std::size_t> weights = weight_places(node);
  for (const std::size_t i : weights) {
    ASSAY_ASSERT(!has_input(node, i + 1));  // No family that is trained has biases there.
    of_input.push_back(g.saved(node.inputs[i]));
    likes.push_back(like_wanted(g, node, i));
  }
  give_result(g, node, 0, op::expert_linear_input_gradient, of_input, attributes);
  const auto count = static_cast<std::int64_t>(likes.size());
  const std::vector<ValueId> of_weights =
      g.add(op::expert_linear_weight_gradient, {dy, g.saved(node.inputs[0]), offsets}, {.experts = count}, likes);
  for (std::size_t e = 0; e < of_weights.size(); ++e) g.give(weights[e], of_weights[e]);
}

/// dy[i] = weight times dmerged of its token, dweight = their inner product
void merge_rule(GradientBuilder& g, const Node& node) {
  const std::vector<ValueId> made =
      g.add(op::merge_rows_gradient,
            {g.of_output(0), g.saved(node.inputs[0]), g.saved(node.inputs[1]), g.saved(node.inputs[2])}, {},
            {like_wanted(g, node, 0), like_wanted(g, node, 2)});
  g.give(0, made[0]);
  g.give(2, made[1]);
}

double route_flops(const Program& program, const Node& node, Extent extent) {
  return (5.0 + static_cast<double>(node.attributes.active_experts)) * input_count(program, node, 0, extent);
}

/// Every row meets one expert.
double expert_flops(const Program& program, const Node& node, Extent extent) {
  const ExpertPlaces places = *expert_places(*node.operation);
  const auto out = static_cast<double>(input(program, node, places.first).shape[0].factor);
  return 2.0 * input_count(program, node, 0, extent) * out;
}

double expert_input_gradient_flops(const Program& program, const Node& node, Extent extent) {
  const ExpertPlaces places = *expert_places(*node.operation);
  const auto in = static_cast<double>(input(program, node, places.first).shape[1].factor);
  return 2.0 * input_count(program, node, 0, extent) * in;
}

double expert_weight_gradient_flops(const Program& program, const Node& node, Extent extent) {
  return 2.0 * input_count(program, node, 0, extent) * static_cast<double>(input(program, node, 1).shape.back().factor);
}

/// A multiplication for the row's gradient, and two operations for its weight's.
double merge_gradient_flops(const Program& program, const Node& node, Extent extent) {
  return 3.0 * input_count(program, node, 1, extent);
}

/// A multiplication and an addition for each element that is merged.
double merge_flops(const Program& program, const Node& node, Extent extent) {
  return 2.0 * input_count(program, node, 0, extent);
}

double expert_bytes(const Program& program, const Node& node, Extent extent) {
  const ExpertPlaces places = *expert_places(*node.operation);
  double weights = 0;
  for (std::size_t i = places.first; i < node.inputs.size(); ++i) {
    if (has_input(node, i)) weights += static_cast<double>(storage_bytes(program, node.inputs[i], extent));
  }
  Node without = node;
  without.inputs.resize(places.first);
  return read_once_write_once(program, without, extent) + weights * read_experts(program, node, extent);
}

}  // namespace

double read_experts(const Program& program, const Node& node, Extent extent) {
  const ExpertPlaces places = *expert_places(*node.operation);
  const auto rows = static_cast<double>(input(program, node, 0).shape[0].at(extent));
  const auto experts = static_cast<double>((node.inputs.size() - places.first) / places.each);
  return std::min(1.0, rows / experts);
}

std::optional<ExpertPlaces> expert_places(const Operation& operation) {
  if (&operation == &op::expert_linear || &operation == &op::expert_block_linear) return ExpertPlaces{1, 2, 2};
  if (&operation == &op::expert_quantized_linear) return ExpertPlaces{2, 3, 3};
  if (&operation == &op::expert_quantized_block_linear) return ExpertPlaces{2, 3, 2};
  if (&operation == &op::expert_linear_input_gradient) return ExpertPlaces{1, 2, 1};
  return std::nullopt;
}

std::vector<std::size_t> weight_places(const Node& node) {
  if (node.operation == &op::linear || node.operation == &op::block_linear) return {1};
  if (node.operation == &op::quantized_linear || node.operation == &op::quantized_block_linear) return {2};
  std::vector<std::size_t> all;
  const std::optional<ExpertPlaces> places = expert_places(*node.operation);
  for (std::size_t i = places ? places->first : node.inputs.size(); i < node.inputs.size(); i += places->each)
    all.push_back(i);
  return all;
}

// Of each token the experts with the largest logits, and as their weights softmax over all logits, divided by its sum
// over those that were taken where attributes.normalised (Shazeer et al. 2017, Fedus et al. 2022). Of equal ones the
// first. The largest stands first. f32 inside.
const Operation op::route = {
    .name = "route",
    .kind = OperationKind::other,
    .autocast = Autocast::full_precision,
    .shapes = route_shapes,
    .flops = route_flops,
    .bytes = read_once_write_once,
    .gradient = route_rule,
};

// The rows of x, each as often as its token has experts, those of one expert together: offsets[e] is the first of
// expert e's, offsets[E] their number; order[i] says where among tokens and experts, (B, T, k), row i comes from.
const Operation op::group_rows = {
    .name = "group_rows",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = group_shapes,
    .flops = no_work,
    .bytes = read_once_write_once,
    .gradient = group_rule,
};

// Rows offsets[e] .. offsets[e + 1] of x by expert e's weight and bias: linear and its kin.
const Operation op::expert_linear = {
    .name = "expert_linear",
    .kind = OperationKind::matmul,
    .autocast = Autocast::low_precision,
    .shapes = expert_shape,
    .flops = expert_flops,
    .bytes = expert_bytes,
    .gradient = expert_linear_rule,
    .products = ProductShare::all,
};
const Operation op::expert_quantized_linear = {
    .name = "expert_quantized_linear",
    .kind = OperationKind::matmul,
    .autocast = Autocast::widest,
    .shapes = expert_shape,
    .flops = expert_flops,
    .bytes = expert_bytes,
    .products = ProductShare::all,
};
const Operation op::expert_block_linear = {
    .name = "expert_block_linear",
    .kind = OperationKind::matmul,
    .autocast = Autocast::low_precision,
    .shapes = expert_shape,
    .flops = expert_flops,
    .bytes = expert_bytes,
    .products = ProductShare::all,
};
const Operation op::expert_quantized_block_linear = {
    .name = "expert_quantized_block_linear",
    .kind = OperationKind::matmul,
    .autocast = Autocast::low_precision,
    .shapes = expert_shape,
    .flops = expert_flops,
    .bytes = expert_bytes,
    .products = ProductShare::all,
};

// The sum over a token's experts of weight times row, in the order of its experts; f32 inside.
const Operation op::merge_rows = {
    .name = "merge_rows",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = merge_shapes,
    .flops = merge_flops,
    .bytes = read_once_write_once,
    .gradient = merge_rule,
};

// dlogits[e] = p[e] (the sum of dweight over the places that e has - the sum of dweight times weight); p is softmax
// over all logits, or, where attributes.normalised, over those of the experts that were taken and 0 elsewhere. f32
// inside.
const Operation op::route_gradient = {
    .name = "route_gradient",
    .kind = OperationKind::other,
    .autocast = Autocast::full_precision,
    .shapes = route_gradient_shape,
    .flops = route_flops,
    .bytes = read_once_write_once,
};

// dx[token] = the sum of drows over its experts, in their order; f32 inside.
const Operation op::group_rows_gradient = {
    .name = "group_rows_gradient",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = ungrouped_shape,
    .flops = per_element<1>,
    .bytes = read_once_write_once,
};

// dx = dy W, rows offsets[e] .. offsets[e + 1] by expert e's weight: linear_input_gradient.
const Operation op::expert_linear_input_gradient = {
    .name = "expert_linear_input_gradient",
    .kind = OperationKind::matmul,
    .autocast = Autocast::low_precision,
    .shapes = expert_input_gradient_shape,
    .flops = expert_input_gradient_flops,
    .bytes = expert_bytes,
    .products = ProductShare::all,
};

// dW[e] = dy^T x over rows offsets[e] .. offsets[e + 1]: linear_weight_gradient; zeros where there are none.
const Operation op::expert_linear_weight_gradient = {
    .name = "expert_linear_weight_gradient",
    .kind = OperationKind::matmul,
    .autocast = Autocast::low_precision,
    .shapes = expert_weight_gradient_shapes,
    .flops = expert_weight_gradient_flops,
    .bytes = read_once_write_once,
    .products = ProductShare::all,
};

// Of token t's expert at grouped row i: dy[i] = weight dmerged[t], dweight = the inner product of dmerged[t] and y[i].
const Operation op::merge_rows_gradient = {
    .name = "merge_rows_gradient",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = merge_gradient_shapes,
    .flops = merge_gradient_flops,
    .bytes = read_once_write_once,
};

}  // namespace assay
