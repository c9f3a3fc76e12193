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

}  // namespace

// y[b, t] = x[b, t] + table[t], or x[b, t] + table[0]: positions and token types
const Operation op::add_rows = {
    .name = "add_rows",
    .autocast = Autocast::widest,
    .shapes = same_shape,
    .flops = per_element<1>,
    .bytes = touched_bytes,
};

}  // namespace assay
