#include "base/error.h"
#include "program/gradient.h"
#include "program/operation.h"

namespace assay {
namespace {

std::vector<SymbolicShape> gathered_shape(const Program& program, const Node& node) {
  SymbolicShape shape = input(program, node, 0).shape;
  shape.push_back(input(program, node, 1).shape[1]);
  return {shape};
}

/// Only the rows that the ids name are read.
double gathered_bytes(const Program& program, const Node& node, Extent extent) {
  const double written = static_cast<double>(storage_bytes(program, node.outputs[0], extent));
  const double elements =
      input_count(program, node, 0, extent) * static_cast<double>(input(program, node, 1).shape[1].factor);
  return written + elements * static_cast<double>(size_of(input(program, node, 1).dtype));
}

/// What a table of attributes.rows rows receives from dy, the input at `place`.
template <std::size_t place>
std::vector<SymbolicShape> table_shape(const Program& program, const Node& node) {
  return {{dim(node.attributes.rows), input(program, node, place).shape.back()}};
}

void embedding_rule(GradientBuilder& g, const Node& node) {
  ASSAY_ASSERT(!has_input(node, 2));
  Attributes attributes = node.attributes;
  attributes.rows = g.rows_of(node.inputs[1]);
  give_result(g, node, 1, op::embedding_gradient, {node.inputs[0], g.of_output(0)}, attributes);
}

}  // namespace

// y[b, t] = table[ids[b, t]] * scales[ids[b, t]]
const Operation op::embedding = {
    .name = "embedding",
    .kind = OperationKind::embedding,
    .autocast = Autocast::widest,
    .shapes = gathered_shape,
    .flops = no_work,
    .bytes = gathered_bytes,
    .gradient = embedding_rule,
};

// Counts what is not attributes.padding_id along each row, from attributes.offset + 1 on; offset where that stands.
// Without a mask all are real. Behind the lengths[b] tokens of a cache it counts on.
const Operation op::count_positions = {
    .name = "count_positions",
    .kind = OperationKind::embedding,
    .autocast = Autocast::widest,
    .shapes = same_shape,
    .flops = no_work,
    .bytes = read_once_write_once,
};

// dtable[v] = the sum of dy[b, t] where ids[b, t] = v (none for v = padding_id), + onto[v]    ids: s32 (B, T), dy: (B,
// T, d), onto, dtable: (V, d)
const Operation op::embedding_gradient = {
    .name = "embedding_gradient",
    .kind = OperationKind::embedding,
    .autocast = Autocast::widest,
    .shapes = table_shape<1>,
    .flops = no_work,
    .bytes = read_once_write_once,
    .in_place = 2,
};

}  // namespace assay
