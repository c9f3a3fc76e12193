#include "base/error.h"
#include "program/operation.h"

namespace assay {
namespace {

std::vector<SymbolicShape> shapes(const Program& program, const Node& node) {
  SymbolicShape shape = input(program, node, 0).shape;
  const SymbolicShape& weight = input(program, node, 1).shape;
  ASSAY_ASSERT(weight.size() == 2 && shape.back() == weight[1]);
  shape.back() = weight[0];
  return {shape};
}

double matmul_flops(const Program& program, const Node& node, Extent extent) {
  return 2.0 * input_count(program, node, 0, extent) * static_cast<double>(input(program, node, 1).shape[0].at(extent));
}

}  // namespace

// y = f(x W^T + b)    x: (.., in), W: (out, in), b: (out), y: (.., out); f is attributes.activation
const Operation op::linear = {
    .name = "linear",
    .autocast = Autocast::low_precision,
    .shapes = shapes,
    .flops = matmul_flops,
    .bytes = read_once_write_once,
};

}  // namespace assay
