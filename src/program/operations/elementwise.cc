#include "base/error.h"
#include "program/operation.h"

namespace assay {
namespace {

std::vector<SymbolicShape> two_alike(const Program& program, const Node& node) {
  ASSAY_ASSERT(input(program, node, 0).shape == input(program, node, 1).shape);
  return same_shape(program, node);
}

}  // namespace

// z = x + y
const Operation op::add = {
    .name = "add",
    .autocast = Autocast::widest,
    .shapes = two_alike,
    .flops = per_element<1>,
    .bytes = read_once_write_once,
};

// z = x * y
const Operation op::multiply = {
    .name = "multiply",
    .autocast = Autocast::widest,
    .shapes = two_alike,
    .flops = per_element<1>,
    .bytes = read_once_write_once,
};

}  // namespace assay
