#include "runtime/call.h"

#include <algorithm>
#include <tuple>

namespace assay {
namespace {

bool reads_a_table(const Node& node) {
  return node.operation == &op::embedding || node.operation == &op::block_embedding || node.operation == &op::add_rows;
}

std::int64_t constant_bytes(const Program& program, const Node& node, Extent extent) {
  std::int64_t total = 0;
  for (const ValueId id : node.inputs) {
    if (id != no_value && program.value(id).constant) total += storage_bytes(program, id, extent);
  }
  return total;
}

}  // namespace

Argument describe(const Program& program, ValueId id, Extent extent) {
  if (id == no_value) return {};
  const Value& value = program.value(id);
  Argument argument;
  argument.present = true;
  argument.constant = value.constant;
  argument.dtype = value.dtype;
  argument.shape = concrete(value.shape, extent);
  argument.row_stride = argument.width();
  argument.packing.dtype = value.dtype;
  return argument;
}

bool is_absent_mask(const Program& program, const PlanOptions& options, ValueId id) {
  return id != no_value && options.mask == AttentionMask::absent && program.value(id).name == "attention_mask";
}

Call call_for(const CallContext& context, const Node& node) {
  const Program& program = context.program;
  const Extent extent = context.options.extent;
  const auto placement = [&](ValueId id) { return context.layout.values[static_cast<std::size_t>(id)]; };
  Call call{node.operation, node.attributes, {}, {}, context.threads};
  for (const ValueId id : node.inputs) {
    Argument argument = is_absent_mask(program, context.options, id) ? Argument{} : describe(program, id, extent);
    const bool in_arena = argument.present && !argument.constant && program.value(id).source != Source::state;
    if (in_arena) argument.row_stride = placement(id).row_stride;
    if (const Packing* packing = argument.constant ? context.held(id) : nullptr) argument.packing = *packing;
    call.inputs.push_back(std::move(argument));
  }
  for (const ValueId id : node.outputs) {
    const bool wanted = id != no_value && placement(id).offset >= 0;
    call.outputs.push_back(wanted ? describe(program, id, extent) : Argument{});
  }
  return call;
}

std::vector<std::size_t> preparation_order(const Program& program, const Layout& layout, Extent extent) {
  std::vector<std::tuple<std::int64_t, bool, std::size_t>> keys;
  for (std::size_t i = 0; i < layout.nodes.size(); ++i) {
    const Node& node = program.nodes[layout.nodes[i]];
    keys.emplace_back(-constant_bytes(program, node, extent), reads_a_table(node), i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::size_t> order;
  order.reserve(keys.size());
  for (const auto& [bytes, table, place] : keys) order.push_back(place);
  return order;
}

}  // namespace assay
