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

// y = x / sqrt(mean(x^2) + epsilon) * gain   (Zhang & Sennrich 2019, eq. 4)
const Operation op::rms_norm = {
    .name = "rms_norm",
    .autocast = Autocast::full_precision,
    .shapes = same_shape,
    .flops = per_element<4>,
    .bytes = read_once_write_once,
};

// s = x + y, n = rms_norm(s)
const Operation op::add_rms_norm = {
    .name = "add_rms_norm",
    .autocast = Autocast::full_precision,
    .shapes = sum_and_norm,
    .flops = per_element<5>,
    .bytes = read_once_write_once,
};

}  // namespace assay
