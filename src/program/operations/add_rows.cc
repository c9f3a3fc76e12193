#include "program/gradient.h"
#include "program/operation.h"

namespace assay {
namespace {

/// Of the table, the first T rows are read, or one.
double touched_bytes(const Program& program, const Node& node, Extent extent) {
  const Value& table = input(program, node, 1);
  const double table_rows = node.attributes.row == RowChoice::first ? 1.0 : static_cast<double>(extent.seq);
  const double table_bytes =
      table_rows * static_cast<double>(table.shape[1].factor) * static_cast<double>(size_of(table.dtype));
  return static_cast<double>(storage_bytes(program, node.inputs[0], extent)) +
         static_cast<double>(storage_bytes(program, node.outputs[0], extent)) + table_bytes;
}

std::vector<SymbolicShape> position_table_shape(const Program& program, const Node& node) {
  return {{dim(node.attributes.rows), input(program, node, 0).shape.back()}};
}

void add_rows_rule(GradientBuilder& g, const Node& node) {
  g.give(0, g.of_output(0));
  Attributes attributes = node.attributes;
  attributes.rows = g.rows_of(node.inputs[1]);
  give_result(g, node, 1, op::add_rows_gradient, {g.of_output(0)}, attributes);
}

}  // namespace

// y[b, t] = x[b, t] + table[t], or x[b, t] + table[0]: positions and token types
const Operation op::add_rows = {
    .name = "add_rows",
    .kind = OperationKind::embedding,
    .autocast = Autocast::widest,
    .shapes = same_shape,
    .flops = per_element<1>,
    .bytes = touched_bytes,
    .gradient = add_rows_rule,
};

// dtable[t] = the sum over b of dy[b, t], or dtable[0] = the sum over b and t; the table's other rows are zero
const Operation op::add_rows_gradient = {
    .name = "add_rows_gradient",
    .kind = OperationKind::embedding,
    .autocast = Autocast::widest,
    .shapes = position_table_shape,
    .flops = per_element<1>,
    .bytes = read_once_write_once,
};

}  // namespace assay
