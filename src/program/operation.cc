#include "program/operation.h"

#include "base/error.h"

namespace assay {

std::span<const Operation* const> all_operations() {
  static constexpr const Operation* operations[] = {
      &op::embedding,
      &op::add_rows,
      &op::layer_norm,
      &op::rms_norm,
      &op::linear,
      &op::quantized_linear,
      &op::activation,
      &op::gated_activation,
      &op::add,
      &op::multiply,
      &op::rope,
      &op::attention_scores,
      &op::softmax,
      &op::attention_context,
      &op::attention,
      &op::add_layer_norm,
      &op::add_rms_norm,
      &op::slice_columns,
      &op::select_row,
      &op::mean_pool,
      &op::cast,
      &op::quantize_rows,
      &op::quantize_weight,
      &op::concat_rows,
      &op::gate,
      &op::dropout,
      &op::cross_entropy,
      &op::linear_input_gradient,
      &op::linear_weight_gradient,
      &op::sum_rows,
      &op::layer_norm_gradient,
      &op::rms_norm_gradient,
      &op::activation_gradient,
      &op::gate_gradient,
      &op::softmax_gradient,
      &op::attention_context_transposed,
      &op::attention_gradient,
      &op::embedding_gradient,
      &op::add_rows_gradient,
      &op::select_row_gradient,
      &op::mean_pool_gradient,
      &op::concat_columns,
      &op::cross_entropy_gradient,
      &op::l2_norm,
      &op::adamw,
      &op::sgd,
  };
  return operations;
}

bool has_input(const Node& node, std::size_t index) {
  return index < node.inputs.size() && node.inputs[index] != no_value;
}

const Value& input(const Program& program, const Node& node, std::size_t index) {
  ASSAY_ASSERT(has_input(node, index));
  return program.value(node.inputs[index]);
}

double input_count(const Program& program, const Node& node, std::size_t index, Extent extent) {
  if (!has_input(node, index)) return 0;
  return static_cast<double>(element_count(concrete(input(program, node, index).shape, extent)));
}

Dim rows(const SymbolicShape& shape) {
  Dim product;
  for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) product = product * shape[axis];
  return product;
}

std::vector<SymbolicShape> same_shape(const Program& program, const Node& node) {
  return {input(program, node, 0).shape};
}

std::vector<SymbolicShape> two_alike(const Program& program, const Node& node) {
  ASSAY_ASSERT(input(program, node, 0).shape == input(program, node, 1).shape);
  return same_shape(program, node);
}

std::vector<SymbolicShape> sum_and_norm(const Program& program, const Node& node) {
  const SymbolicShape shape = two_alike(program, node).front();
  return {shape, shape};
}

SymbolicShape product_shape(SymbolicShape x, const SymbolicShape& weight) {
  ASSAY_ASSERT(weight.size() == 2 && x.back() == weight[1]);
  x.back() = weight[0];
  return x;
}

double read_once_write_once(const Program& program, const Node& node, Extent extent) {
  double total = 0;
  for (const ValueId id : node.inputs) {
    if (id != no_value) total += static_cast<double>(storage_bytes(program, id, extent));
  }
  for (const ValueId id : node.outputs) {
    if (id != no_value) total += static_cast<double>(storage_bytes(program, id, extent));
  }
  return total;
}

double no_work(const Program&, const Node&, Extent) {
  return 0;
}

}  // namespace assay
