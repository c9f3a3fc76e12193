#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "program/gradient.h"
#include "program/operation.h"

namespace assay {
namespace {

std::int64_t columns_of(const Node& node) {
  return node.attributes.heads * node.attributes.head_dim;
}

std::vector<SymbolicShape> relative_shape(const Program& program, const Node& node) {
  const SymbolicShape& table = input(program, node, 2).shape;
  ASSAY_ASSERT(table.size() == 2 && table[0].factor == 2 * node.attributes.relative.span &&
               table[1].factor == columns_of(node) && input(program, node, 1).shape.back().factor == columns_of(node));
  return {input(program, node, 0).shape};
}

std::vector<SymbolicShape> scored_shape(const Program& program, const Node& node) {
  const SymbolicShape& ds = input(program, node, 0).shape;
  return {{ds[0], ds[2], dim(columns_of(node))}};
}

std::vector<SymbolicShape> distances_shape(const Program&, const Node& node) {
  return {{dim(2 * node.attributes.relative.span), dim(columns_of(node))}};
}

/// A multiplication and an addition for each pair of tokens and channel of a head.
double relative_flops(const Program& program, const Node& node, Extent extent) {
  return 2.0 * static_cast<double>(node.attributes.head_dim) * input_count(program, node, 0, extent);
}

void relative_rule(GradientBuilder& g, const Node& node) {
  g.give(0, g.of_output(0));
  give_result(g, node, 1, op::relative_input_gradient, {g.of_output(0), g.saved(node.inputs[2])}, node.attributes);
  give_result(g, node, 2, op::relative_table_gradient, {g.of_output(0), g.saved(node.inputs[1])}, node.attributes);
}

/// As far from zero as `distance`; in f32, step by step as in the code that models were trained with.
std::int64_t logarithmic_step(const RelativePositions& positions, std::int64_t distance) {
  const std::int64_t half = positions.span / 2;
  const auto middle = static_cast<float>(half);
  const float whole = std::log((static_cast<float>(positions.farthest) - 1) / middle);
  const float share = std::log(static_cast<float>(distance) / middle) / whole;
  return static_cast<std::int64_t>(std::ceil(share * (middle - 1)) + middle);
}

}  // namespace

std::int64_t relative_row(const RelativePositions& positions, std::int64_t distance) {
  const std::int64_t size = std::abs(distance);
  const bool has_own_row = positions.farthest == 0 || size <= positions.span / 2;
  const std::int64_t step = has_own_row ? size : logarithmic_step(positions, size);
  return std::clamp<std::int64_t>(positions.span + (distance < 0 ? -step : step), 0, 2 * positions.span - 1);
}

// s'[q, k] = s[q, k] + scale * x[q or k] . table[relative_row(q - k)], head by head; attributes.scored_by says which
// s, s': (B, H, T, T), x: (B, T, H*D), table: (2 span, H*D)
const Operation op::relative_scores = {
    .name = "relative_scores",
    .kind = OperationKind::attention,
    .autocast = Autocast::low_precision,
    .shapes = relative_shape,
    .flops = relative_flops,
    .bytes = read_once_write_once,
    .gradient = relative_rule,
    .in_place = 0,
    .products = ProductShare::some,
};

// dx[t] = scale * the sum of ds[q, k] table[relative_row(q - k)] over the pairs where x[t] was scored
// ds: (B, H, T, T), table: (2 span, H*D), dx: (B, T, H*D)
const Operation op::relative_input_gradient = {
    .name = "relative_input_gradient",
    .kind = OperationKind::attention,
    .autocast = Autocast::low_precision,
    .shapes = scored_shape,
    .flops = relative_flops,
    .bytes = read_once_write_once,
    .products = ProductShare::some,
};

// dtable[r] = scale * the sum of ds[q, k] x[q or k] over the pairs whose distance has row r
// ds: (B, H, T, T), x: (B, T, H*D), dtable: (2 span, H*D)
const Operation op::relative_table_gradient = {
    .name = "relative_table_gradient",
    .kind = OperationKind::attention,
    .autocast = Autocast::low_precision,
    .shapes = distances_shape,
    .flops = relative_flops,
    .bytes = read_once_write_once,
    .products = ProductShare::some,
};

}  // namespace assay
