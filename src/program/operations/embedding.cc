#include "program/operation.h"

namespace assay {
namespace {

std::vector<SymbolicShape> shapes(const Program& program, const Node& node) {
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

}  // namespace

// y[b, t] = table[ids[b, t]] * scales[ids[b, t]]
const Operation op::embedding = {
    .name = "embedding",
    .autocast = Autocast::widest,
    .shapes = shapes,
    .flops = no_work,
    .bytes = gathered_bytes,
};

}  // namespace assay
