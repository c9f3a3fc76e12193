#include "runtime/row_sources.h"

#include "program/operation.h"

namespace assay {
namespace {

/// The weight that `id` itself is.
const Weight* unrounded(const RowSources& in, ValueId id) {
  const Value& value = in.program.value(id);
  const auto found = in.weights.by_name.find(value.name);
  const bool is_read = value.source == Source::weight && found != in.weights.by_name.end();
  return is_read && value.dtype != DType::u8 ? &found->second : nullptr;
}

/// Null where the value is made by no node, or by another operation.
const Node* made_by(const RowSources& in, ValueId id, const Operation& operation) {
  const std::size_t index = in.producers[static_cast<std::size_t>(id)];
  const bool is_made = index != no_node && in.program.nodes[index].operation == &operation;
  return is_made ? &in.program.nodes[index] : nullptr;
}

}  // namespace

Producers producers_of(const Program& program) {
  Producers producers(program.values.size(), no_node);
  for (std::size_t index = 0; index < program.nodes.size(); ++index) {
    for (const ValueId id : program.nodes[index].outputs) {
      if (id != no_value) producers[static_cast<std::size_t>(id)] = index;
    }
  }
  return producers;
}

const Weight* RowSources::one_of(ValueId id) const {
  const Node* cast = made_by(*this, id, op::cast);
  return unrounded(*this, cast == nullptr ? id : cast->inputs[0]);
}

std::vector<const Weight*> RowSources::of(ValueId id) const {
  if (const Weight* weight = one_of(id)) return {weight};
  const Node* stack = made_by(*this, id, op::concat_rows);
  if (stack == nullptr) return {};
  std::vector<const Weight*> parts;
  for (const ValueId part : stack->inputs) {
    parts.push_back(one_of(part));
    if (parts.back() == nullptr) return {};
  }
  return parts;
}

}  // namespace assay
