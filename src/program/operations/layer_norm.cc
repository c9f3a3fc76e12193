#include "base/error.h"
#include "program/operation.h"

namespace assay {
namespace {

std::vector<SymbolicShape> sum_and_norm(const Program& program, const Node& node) {
  const SymbolicShape& shape = input(program, node, 0).shape;
  ASSAY_ASSERT(shape == input(program, node, 1).shape);
  return {shape, shape};
}

}  // namespace

// y = (x - mean(x)) / sqrt(var(x) + epsilon) * gain + bias   (Ba et al. 2016); statistics over the last axis
const Operation op::layer_norm = {
    .name = "layer_norm",
    .autocast = Autocast::full_precision,
    .shapes = same_shape,
    .flops = per_element<8>,
    .bytes = read_once_write_once,
};

// s = x + y, n = layer_norm(s)
const Operation op::add_layer_norm = {
    .name = "add_layer_norm",
    .autocast = Autocast::full_precision,
    .shapes = sum_and_norm,
    .flops = per_element<9>,
    .bytes = read_once_write_once,
};

}  // namespace assay
