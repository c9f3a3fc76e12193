#include <algorithm>

#include "base/error.h"
#include "program/edit.h"
#include "program/operation.h"
#include "program/passes.h"

namespace assay {
namespace {

/// What the pass works with.
struct CacheInputs {
  ValueId mask;
  ValueId positions;
  ValueId lengths;
};

ValueId add_input(Program& program, const char* name, SymbolicShape shape) {
  Value value;
  value.name = name;
  value.dtype = DType::s32;
  value.shape = std::move(shape);
  value.source = Source::input;
  program.values.push_back(std::move(value));
  const auto id = static_cast<ValueId>(program.values.size() - 1);
  program.inputs.push_back({name, id});
  return id;
}

CacheInputs add_cache_inputs(Program& program) {
  const auto mask = std::find_if(program.inputs.begin(), program.inputs.end(),
                                 [](const NamedValue& in) { return in.name == "attention_mask"; });
  ASSAY_ASSERT(mask != program.inputs.end());
  CacheInputs inputs = {mask->value, no_value, no_value};
  inputs.positions = add_input(program, "positions", {dim_batch, dim_seq});
  inputs.lengths = add_input(program, "cache_lengths", {dim_batch});
  return inputs;
}

/// Slots of a row: the capacity, or what a window and the new tokens before its last query need.
std::int64_t slots(const Attributes& attention, const CacheSize& size) {
  if (attention.window == 0) return size.capacity;
  return std::min(size.capacity, attention.window + size.chunk - 1);
}

/// The state in which keys or values of an attention are kept. `kind`: "k", "v".
ValueId add_cache(Edit& edit, const Node& attention, const char* kind, const CacheSize& size) {
  Value value;
  value.name = "cache." + attention.path.substr(0, attention.path.rfind('.')) + "." + kind;
  value.shape = {dim_batch, dim(slots(attention.attributes, size)),
                 dim(attention.attributes.kv_heads * attention.attributes.head_dim)};
  value.source = Source::state;
  return edit.add_value(std::move(value));
}

void cache_attention(Edit& edit, std::size_t context, const CacheInputs& inputs, const CacheSize& size) {
  const AttentionParts parts = *attention_parts(edit, context);
  Node attention = whole_attention(edit, parts, context);
  const ValueId k = add_cache(edit, attention, "k", size);
  const ValueId v = add_cache(edit, attention, "v", size);
  Node append = attention;
  append.operation = &op::append_cache;
  append.path = attention.path.substr(0, attention.path.rfind('.')) + ".cache";
  append.role = Role::kv;
  append.inputs = {attention.inputs[1], attention.inputs[2], inputs.mask, inputs.lengths, k, v};
  append.outputs = {k, v};
  attention.operation = &op::cached_attention;
  const ValueId sinks = has_input(attention, 4) ? attention.inputs[4] : no_value;
  attention.inputs = {attention.inputs[0], k, v, inputs.mask, inputs.lengths};
  if (sinks != no_value) attention.inputs.insert(attention.inputs.end(), {no_value, no_value, sinks});
  for (const std::size_t index : parts.before_context()) edit.remove(index);
  edit.replace(context, {append, attention});
}

/// A table's rows by position become a look-up of the given ones.
void look_positions_up(Edit& edit, std::size_t index, const CacheInputs& inputs) {
  Node sum = edit.node(index);
  Value rows = edit.program().value(sum.outputs[0]);
  rows.name += ".positions";
  Node look_up = sum;
  look_up.operation = &op::embedding;
  look_up.inputs = {inputs.positions, sum.inputs[1]};
  look_up.outputs = {edit.add_value(rows)};
  look_up.attributes = {};
  sum.operation = &op::add;
  sum.inputs = {sum.inputs[0], look_up.outputs[0]};
  sum.attributes = {};
  edit.replace(index, {look_up, sum});
}

void replace_with(Edit& edit, std::size_t index, ValueId more, std::int64_t positions) {
  Node node = edit.node(index);
  node.inputs.push_back(more);
  node.attributes.positions = positions;
  edit.replace(index, {node});
}

}  // namespace

Program with_cache(const Program& program, const CacheSize& size) {
  ASSAY_ASSERT(size.chunk >= 1 && size.chunk <= size.capacity);
  Program result = program;
  const CacheInputs inputs = add_cache_inputs(result);
  Edit edit(result);
  for (std::size_t i = 0; i < edit.size(); ++i) {
    const Node& node = edit.node(i);
    const Attributes& a = node.attributes;
    if (node.operation == &op::attention_scores && !a.causal)
      fail_user("{}: its attention looks ahead: only a decoder's keys and values can be kept", node.path);
    if (node.operation == &op::attention_context) cache_attention(edit, i, inputs, size);
    if (node.operation == &op::add_rows && a.row == RowChoice::by_position) look_positions_up(edit, i, inputs);
    if (node.operation == &op::rope) replace_with(edit, i, inputs.positions, size.capacity);
    if (node.operation == &op::count_positions) replace_with(edit, i, inputs.lengths, 0);
    if (node.operation == &op::select_row && a.row == RowChoice::last) replace_with(edit, i, inputs.mask, 0);
  }
  edit.apply();
  return result;
}

}  // namespace assay
