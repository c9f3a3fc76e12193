#include "program/operation.h"

#include <array>

#include "base/error.h"

namespace assay {

std::span<const Operation* const> all_operations() {
#define ASSAY_LIST_OPERATION(name) &op::name,
  static constexpr const Operation* operations[] = {ASSAY_OPERATIONS(ASSAY_LIST_OPERATION)};
#undef ASSAY_LIST_OPERATION
  return operations;
}

const char* name(OperationKind kind) {
  constexpr std::array<const char*, operation_kinds> names = {
      "matmul", "attention", "norm", "activation", "embedding", "casts", "loss", "optimizer", "other"};
  return names[static_cast<std::size_t>(kind)];
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
