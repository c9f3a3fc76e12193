#include "base/error.h"
#include "program/operation.h"
#include "program/update_list.h"

namespace assay {
namespace {

std::vector<SymbolicShape> norm_of_each(const Program&, const Node& node) {
  return {{dim(static_cast<std::int64_t>(node.inputs.size()))}};
}

/// What is written of a parameter has the shape of what it is written over; then how many of its updates were lost.
std::vector<SymbolicShape> update_shapes(const Program& program, const Node& node) {
  const UpdateList list = update_list(*node.operation, node.inputs.size());
  std::vector<SymbolicShape> shapes;
  for (std::size_t k = 0; k < list.parameters; ++k) {
    for (std::size_t i = 0; i < list.outputs_each; ++i) {
      const std::size_t place = list.input(k, UpdateList::input_of(i));
      shapes.push_back(input(program, node, has_input(node, place) ? place : list.input(k, 0)).shape);
    }
  }
  shapes.push_back({dim(static_cast<std::int64_t>(list.parameters))});
  return shapes;
}

/// A multiplication and an addition for each element.
double norm_flops(const Program& program, const Node& node, Extent extent) {
  double elements = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) elements += input_count(program, node, i, extent);
  return 2 * elements;
}

/// `count` operations for each element of each weight.
template <int count>
double update_flops(const Program& program, const Node& node, Extent extent) {
  const UpdateList list = update_list(*node.operation, node.inputs.size());
  double elements = 0;
  for (std::size_t k = 0; k < list.parameters; ++k) elements += input_count(program, node, list.input(k, 0), extent);
  return count * elements;
}

}  // namespace

UpdateList update_list(const Operation& operation, std::size_t inputs) {
  constexpr std::size_t shared = 2;
  ASSAY_ASSERT(updates_list(operation));
  const std::size_t inputs_each = &operation == &op::block_adamw ? 6 : &operation == &op::adamw ? 4 : 3;
  ASSAY_ASSERT(inputs > shared && (inputs - shared) % inputs_each == 0);
  return {(inputs - shared) / inputs_each, inputs_each, inputs_each - 1};
}

bool updates_list(const Operation& operation) {
  return &operation == &op::adamw || &operation == &op::sgd || &operation == &op::block_adamw;
}

// y[k] = sqrt(sum of x_k^2); infinite or NaN where an element is
const Operation op::l2_norm = {
    .name = "l2_norm",
    .kind = OperationKind::optimizer,
    .autocast = Autocast::full_precision,
    .shapes = norm_of_each,
    .flops = norm_flops,
    .bytes = read_once_write_once,
};

// g' = hyper[3] g, m = beta1 m + (1 - beta1) g', v = beta2 v + (1 - beta2) g'^2, then w by attributes.adamw.
// hyper: f32 (4): learning rate, 1 - beta1^t, 1 - beta2^t, gradient coefficient (clipping and loss scale).
// w, g, m, v: one shape, any float dtypes, f32 inside; w, m and v are written over. lost: s32 (parameters), the number
// of elements whose update was not zero and left the stored w as it was. With attributes.state_rounding stochastic new
// moments in bf16 draw from stream + state_stream: m the low half of a word, v the high one.
const Operation op::adamw = {
    .name = "adamw",
    .kind = OperationKind::optimizer,
    .autocast = Autocast::full_precision,
    .shapes = update_shapes,
    .flops = update_flops<14>,
    .bytes = read_once_write_once,
};

// As adamw with m and v in blocks of attributes.width neighbouring elements, as bitsandbytes has them: a code is a
// value of the signed (m) or unsigned (v) dynamic map (tensor/dynamic_map.h) times the block's scale, f32 (blocks). w
// is updated from the new moments before those are rounded; the new scale is a block's largest magnitude, each code the
// nearest to value / scale. A block with a value that is not finite gets the scale NaN.
const Operation op::block_adamw = {
    .name = "block_adamw",
    .kind = OperationKind::optimizer,
    .autocast = Autocast::full_precision,
    .shapes = update_shapes,
    .flops = update_flops<18>,
    .bytes = read_once_write_once,
};

// g' = hyper[3] g + decay w, b = beta1 b + g', w = w - hyper[0] b; without momentum (beta1 = 0) b is absent.
const Operation op::sgd = {
    .name = "sgd",
    .kind = OperationKind::optimizer,
    .autocast = Autocast::full_precision,
    .shapes = update_shapes,
    .flops = update_flops<6>,
    .bytes = read_once_write_once,
};

}  // namespace assay
