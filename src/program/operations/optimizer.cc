#include "program/operation.h"

namespace assay {
namespace {

std::vector<SymbolicShape> one_number(const Program&, const Node&) {
  return {{dim(1)}};
}

/// Weight, moments, and how many updates were lost.
std::vector<SymbolicShape> adamw_shapes(const Program& program, const Node& node) {
  const SymbolicShape& w = input(program, node, 0).shape;
  return {w, w, w, {dim(1)}};
}

std::vector<SymbolicShape> sgd_shapes(const Program& program, const Node& node) {
  const SymbolicShape& w = input(program, node, 0).shape;
  return {w, w, {dim(1)}};
}

}  // namespace

// y = sqrt(sum of x^2); infinite or NaN where an element is
const Operation op::l2_norm = {
    .name = "l2_norm",
    .autocast = Autocast::full_precision,
    .shapes = one_number,
    .flops = per_element<2>,
    .bytes = read_once_write_once,
};

// g' = hyper[3] g, m = beta1 m + (1 - beta1) g', v = beta2 v + (1 - beta2) g'^2, then w by attributes.adamw.
// hyper: f32 (4): learning rate, 1 - beta1^t, 1 - beta2^t, gradient coefficient (clipping and loss scale).
// w, g, m, v: one shape, any float dtypes, f32 inside; w, m and v are written over. lost: the number of elements whose
// update was not zero and left the stored w as it was.
const Operation op::adamw = {
    .name = "adamw",
    .autocast = Autocast::full_precision,
    .shapes = adamw_shapes,
    .flops = per_element<14>,
    .bytes = read_once_write_once,
};

// g' = hyper[3] g + decay w, b = beta1 b + g', w = w - hyper[0] b; without momentum (beta1 = 0) b is absent.
const Operation op::sgd = {
    .name = "sgd",
    .autocast = Autocast::full_precision,
    .shapes = sgd_shapes,
    .flops = per_element<6>,
    .bytes = read_once_write_once,
};

}  // namespace assay
