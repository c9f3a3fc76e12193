#include "base/error.h"
#include "program/gradient.h"
#include "program/operation.h"

namespace assay {
namespace {

std::vector<SymbolicShape> slice_shape(const Program& program, const Node& node) {
  SymbolicShape shape = input(program, node, 0).shape;
  ASSAY_ASSERT(node.attributes.offset + node.attributes.width <= shape.back().factor);
  shape.back() = dim(node.attributes.width);
  return {shape};
}

std::vector<SymbolicShape> one_row(const Program& program, const Node& node) {
  const SymbolicShape& x = input(program, node, 0).shape;
  return {{x.front(), x.back()}};
}

/// Reads what it writes.
double written_twice(const Program& program, const Node& node, Extent extent) {
  return 2.0 * static_cast<double>(storage_bytes(program, node.outputs[0], extent));
}

std::vector<SymbolicShape> stacked(const Program& program, const Node& node) {
  SymbolicShape shape = input(program, node, 0).shape;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const SymbolicShape& more = input(program, node, i).shape;
    ASSAY_ASSERT(more.size() == shape.size() && (shape.size() == 1 || more[1] == shape[1]));
    shape[0].factor += more[0].factor;
  }
  return {shape};
}

void slice_rule(GradientBuilder& g, const Node& node) {
  g.give_columns(0, node.attributes.offset, g.of_output(0));
}

void select_rule(GradientBuilder& g, const Node& node) {
  give_result(g, node, 0, op::select_row_gradient, {g.of_output(0)}, node.attributes);
}

void pool_rule(GradientBuilder& g, const Node& node) {
  const ValueId mask = has_input(node, 1) ? node.inputs[1] : no_value;
  give_result(g, node, 0, op::mean_pool_gradient, {g.of_output(0), mask});
}

/// A row for each of the T positions.
std::vector<SymbolicShape> all_positions(const Program& program, const Node& node) {
  const SymbolicShape& dy = input(program, node, 0).shape;
  return {{dy.front(), dim_seq, dy.back()}};
}

std::vector<SymbolicShape> side_by_side(const Program& program, const Node& node) {
  SymbolicShape shape = input(program, node, 0).shape;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const SymbolicShape& more = input(program, node, i).shape;
    ASSAY_ASSERT(rows(more) == rows(shape));
    shape.back().factor += more.back().factor;
  }
  return {shape};
}

}  // namespace

// y = x[.., offset : offset + width]; a window into x, nothing is copied
const Operation op::slice_columns = {
    .name = "slice_columns",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = slice_shape,
    .flops = no_work,
    .bytes = no_work,
    .gradient = slice_rule,
    .alias = true,
};

// y[b] = x[b, 0] or x[b, T - 1]; with a mask the last real position, the first where none is.
// x: (B, T, d), mask: u8 (B, T), y: (B, d); attributes.row
const Operation op::select_row = {
    .name = "select_row",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = one_row,
    .flops = no_work,
    .bytes = written_twice,
    .gradient = select_rule,
};

// y[b] = mean of x[b, t] over real positions; zeros where there is none.    x: (B, T, d), mask: u8 (B, T), y: (B, d)
const Operation op::mean_pool = {
    .name = "mean_pool",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = one_row,
    .flops = per_element<1>,
    .bytes = read_once_write_once,
    .gradient = pool_rule,
};

// W = the rows of W1, W2, ... one after the other; constants only
const Operation op::concat_rows = {
    .name = "concat_rows",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = stacked,
    .flops = no_work,
    .bytes = read_once_write_once,
};

// dx[b, 0] or dx[b, T - 1] = dy[b], zeros elsewhere    dy: (B, d), dx: (B, T, d); attributes.row
const Operation op::select_row_gradient = {
    .name = "select_row_gradient",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = all_positions,
    .flops = no_work,
    .bytes = read_once_write_once,
};

// dx[b, t] = dy[b] / (number of real positions of b) where t is real, else 0    dy: (B, d), mask: u8 (B, T)
const Operation op::mean_pool_gradient = {
    .name = "mean_pool_gradient",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = all_positions,
    .flops = per_element<1>,
    .bytes = read_once_write_once,
};

// Rows side by side    x1: (.., w1), x2: (.., w2), ... -> (.., w1 + w2 + ...)
const Operation op::concat_columns = {
    .name = "concat_columns",
    .kind = OperationKind::other,
    .autocast = Autocast::widest,
    .shapes = side_by_side,
    .flops = no_work,
    .bytes = read_once_write_once,
};

}  // namespace assay
