#include <algorithm>

#include "base/error.h"
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

double route_flops(const Program& program, const Node& node, Extent extent) {
  return (5.0 + static_cast<double>(node.attributes.active_experts)) * input_count(program, node, 0, extent);
}

/// Every row meets one expert.
double expert_flops(const Program& program, const Node& node, Extent extent) {
  const ExpertPlaces places = *expert_places(*node.operation);
  const auto out = static_cast<double>(input(program, node, places.first).shape[0].factor);
  return 2.0 * input_count(program, node, 0, extent) * out;
}

/// A multiplication and an addition for each element that is merged.
double merge_flops(const Program& program, const Node& node, Extent extent) {
  return 2.0 * input_count(program, node, 0, extent);
}

/// Of as many experts as there are rows, if those are fewer: which ones they are is known when it runs.
double expert_bytes(const Program& program, const Node& node, Extent extent) {
  const ExpertPlaces places = *expert_places(*node.operation);
  const auto rows = static_cast<double>(input(program, node, 0).shape[0].at(extent));
  const auto experts = static_cast<double>((node.inputs.size() - places.first) / places.each);
  double weights = 0;
  for (std::size_t i = places.first; i < node.inputs.size(); ++i)
    weights += static_cast<double>(storage_bytes(program, node.inputs[i], extent));
  Node without = node;
  without.inputs.resize(places.first);
  return read_once_write_once(program, without, extent) + weights * std::min(1.0, rows / experts);
}

}  // namespace

std::optional<ExpertPlaces> expert_places(const Operation& operation) {
  if (&operation == &op::expert_linear || &operation == &op::expert_block_linear) return ExpertPlaces{1, 2, 1};
  if (&operation == &op::expert_quantized_linear) return ExpertPlaces{2, 3, 2};
  if (&operation == &op::expert_quantized_block_linear) return ExpertPlaces{2, 3, 1};
  return std::nullopt;
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
};

// Rows offsets[e] .. offsets[e + 1] of x by expert e's weight: linear and its kin without bias.
const Operation op::expert_linear = {
    .name = "expert_linear",
    .kind = OperationKind::matmul,
    .autocast = Autocast::low_precision,
    .shapes = expert_shape,
    .flops = expert_flops,
    .bytes = expert_bytes,
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
};

}  // namespace assay
