#include "base/error.h"
#include "program/operation.h"

namespace assay {
namespace {

std::vector<SymbolicShape> half_width(const Program& program, const Node& node) {
  SymbolicShape shape = input(program, node, 0).shape;
  ASSAY_ASSERT(shape.back().factor % 2 == 0);
  shape.back().factor /= 2;
  return {shape};
}

}  // namespace

// y = f(x), element by element; f is attributes.activation
const Operation op::activation = {
    .name = "activation",
    .autocast = Autocast::widest,
    .shapes = same_shape,
    .flops = per_element<8>,
    .bytes = read_once_write_once,
};

// y = f(x[.., : w]) * x[.., w :]    x: (.., 2w), y: (.., w); f is attributes.activation (Shazeer 2020)
const Operation op::gated_activation = {
    .name = "gated_activation",
    .autocast = Autocast::widest,
    .shapes = half_width,
    .flops = per_element<5>,
    .bytes = read_once_write_once,
};

}  // namespace assay
