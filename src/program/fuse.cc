#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.h"
#include "program/edit.h"
#include "program/operation.h"
#include "program/passes.h"

namespace assay {
namespace {

/// Place of the weight, its scale and the bias among a linear's inputs; scale is `none` for float weights.
struct LinearInputs {
  std::vector<std::size_t> stacked;  ///< Inputs whose rows are one an output channel.
  std::vector<std::size_t> shared;   ///< Inputs that joined linears have in common.
};

LinearInputs linear_inputs(const Operation* operation) {
  if (operation == &op::quantized_linear) return {{2, 3, 4}, {0, 1}};
  if (operation == &op::quantized_block_linear) return {{2, 3}, {0, 1}};
  return {{1, 2}, {0}};
}

bool is_linear(const Node& node) {
  return node.operation == &op::linear || node.operation == &op::quantized_linear ||
         node.operation == &op::block_linear || node.operation == &op::quantized_block_linear;
}

std::string parent(const std::string& path) {
  return path.substr(0, path.rfind('.'));
}

/// What linears must have in common to be one.
auto join_key(const Program& program, const Node& node) {
  const LinearInputs places = linear_inputs(node.operation);
  std::vector<ValueId> shared;
  for (const std::size_t place : places.shared) shared.push_back(node.inputs[place]);
  const ValueId weight = node.inputs[places.stacked[0]];
  return std::tuple(node.operation, parent(node.path), shared, has_input(node, places.stacked.back()),
                    program.value(weight).dtype, node.attributes.blocks, program.value(node.outputs[0]).dtype,
                    std::string(node.precision));
}

/// Adds the constant that stacks input `place` of all `members`, and the node that makes it.
ValueId stack(Edit& edit, const std::vector<std::size_t>& members, std::size_t place, std::vector<Node>& nodes) {
  Node concat{&op::concat_rows, {}, {}, {}, parent(edit.node(members[0]).path), edit.node(members[0]).role};
  for (const std::size_t member : members) concat.inputs.push_back(edit.node(member).inputs[place]);
  Value value = edit.program().value(concat.inputs[0]);
  value.shape = op::concat_rows.shapes(edit.program(), concat)[0];
  value.source = Source::computed;
  value.name = concat.path;
  concat.outputs = {edit.add_value(value)};
  nodes.push_back(std::move(concat));
  return nodes.back().outputs[0];
}

/// One linear in the place of several of one input; each old output is a window into the new one.
void join(Edit& edit, const std::vector<std::size_t>& members) {
  const Node& first = edit.node(members[0]);
  Node joined = first;
  std::vector<Node> nodes;
  for (const std::size_t place : linear_inputs(first.operation).stacked) {
    if (has_input(first, place)) joined.inputs[place] = stack(edit, members, place, nodes);
  }
  Value wide = edit.program().value(first.outputs[0]);
  wide.shape = joined.operation->shapes(edit.program(), joined)[0];
  joined.path = wide.name = parent(first.path) + ".joined";
  joined.outputs = {edit.add_value(wide)};
  nodes.push_back(joined);
  std::int64_t offset = 0;
  for (const std::size_t member : members) {
    const Node& old = edit.node(member);
    Node slice{&op::slice_columns, {joined.outputs[0]}, old.outputs, {}, old.path, old.role};
    slice.attributes.offset = offset;
    slice.attributes.width = edit.program().value(old.outputs[0]).shape.back().factor;
    offset += slice.attributes.width;
    nodes.push_back(std::move(slice));
    edit.remove(member);
  }
  edit.replace(members[0], std::move(nodes));
}

/// Linears of one input under one parent: Q, K and V, gate and up.
void join_linears(Program& program) {
  Edit edit(program);
  std::map<decltype(join_key(program, program.nodes[0])), std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < edit.size(); ++i) {
    const Node& node = edit.node(i);
    if (!is_linear(node) || program.value(node.outputs[0]).constant) continue;  // What is made once need not be fast.
    if (program.value(node.inputs[linear_inputs(node.operation).stacked[0]]).constant) {
      groups[join_key(program, node)].push_back(i);
    }
  }
  for (const auto& [key, members] : groups) {
    if (members.size() > 1) join(edit, members);
  }
  edit.apply();
}

/// f(x[.., :w]) * x[.., w:] of the two halves of one value.
void gate(Program& program) {
  Edit edit(program);
  for (std::size_t i = 0; i < edit.size(); ++i) {
    if (edit.node(i).operation != &op::multiply) continue;
    const std::size_t f = edit.sole_producer(edit.node(i).inputs[0], op::activation);
    const std::size_t right = edit.sole_producer(edit.node(i).inputs[1], op::slice_columns);
    if (f == nowhere || right == nowhere) continue;
    const std::size_t left = edit.sole_producer(edit.node(f).inputs[0], op::slice_columns);
    if (left == nowhere || edit.node(left).inputs[0] != edit.node(right).inputs[0]) continue;
    const Attributes& a = edit.node(left).attributes;
    const Attributes& b = edit.node(right).attributes;
    const Value& whole = program.value(edit.node(left).inputs[0]);
    if (a.offset != 0 || b.offset != a.width || a.width != b.width || whole.shape.back().factor != 2 * a.width)
      continue;
    Node gated = edit.node(i);
    gated.operation = &op::gated_activation;
    gated.inputs = {edit.node(left).inputs[0]};
    gated.attributes = edit.node(f).attributes;
    for (const std::size_t gone : {f, left, right}) edit.remove(gone);
    edit.replace(i, {gated});
  }
  edit.apply();
}

/// A linear followed by an activation that alone reads it.
void fuse_activation(Program& program) {
  Edit edit(program);
  for (std::size_t i = 0; i < edit.size(); ++i) {
    const Node& node = edit.node(i);
    if (node.operation != &op::activation) continue;
    const std::size_t maker = edit.sole_producer(node.inputs[0]);
    if (maker == nowhere || !is_linear(edit.node(maker)) || edit.node(maker).attributes.activation != Activation::none)
      continue;
    Node fused = edit.node(maker);
    fused.attributes.activation = node.attributes.activation;
    fused.outputs = node.outputs;
    edit.remove(maker);
    edit.replace(i, {fused});
  }
  edit.apply();
}

/// A sum whose first reader is a norm. The sum is stored only where somebody else reads it: in training the gradient.
void fuse_residual(Program& program, Purpose purpose) {
  Edit edit(program);
  for (std::size_t i = 0; i < edit.size(); ++i) {
    const Node& norm = edit.node(i);
    const bool layer = norm.operation == &op::layer_norm;
    if ((!layer && norm.operation != &op::rms_norm) || norm.attributes.math != DType::f32) continue;
    if (program.value(norm.inputs[1]).shape.back() != program.value(norm.inputs[0]).shape.back()) continue;  // Heads.
    const std::size_t sum = edit.producer(norm.inputs[0], op::add);
    if (sum == nowhere) continue;
    Node fused = norm;
    fused.operation = layer ? &op::add_layer_norm : &op::add_rms_norm;
    fused.inputs.insert(fused.inputs.begin(), edit.node(sum).inputs.begin(), edit.node(sum).inputs.end());
    fused.inputs.erase(fused.inputs.begin() + 2);
    const bool read_again = edit.uses(norm.inputs[0]) > 1 || purpose == Purpose::training;
    const ValueId kept = read_again ? norm.inputs[0] : no_value;
    fused.outputs = {kept, norm.outputs[0]};
    edit.remove(i);
    edit.replace(sum, {fused});
  }
  edit.apply();
}

/// The value before a cast that alone reads it; else the value itself. `casts` collects the casts passed.
ValueId behind_cast(const Edit& edit, ValueId id, std::vector<std::size_t>& casts) {
  const std::size_t index = edit.sole_producer(id, op::cast);
  if (index == nowhere) return id;
  casts.push_back(index);
  return edit.node(index).inputs[0];
}

/// Left apart where softmax's arithmetic was overridden: then its rounding is the question.
void fuse_attention(Program& program) {
  Edit edit(program);
  for (std::size_t i = 0; i < edit.size(); ++i) {
    const std::optional<AttentionParts> parts = attention_parts(edit, i);
    if (!parts || edit.node(parts->softmax).attributes.math != DType::f32) continue;
    const Node fused = whole_attention(edit, *parts, i);
    for (const std::size_t index : parts->before_context()) edit.remove(index);
    edit.replace(i, {fused});
  }
  edit.apply();
}

/// Kernels of these compute in f32 and round once when they store, so that a cast behind them is theirs to do.
bool rounds_when_storing(const Operation* operation) {
  const Operation* operations[] = {&op::linear,
                                   &op::expert_linear,
                                   &op::expert_quantized_linear,
                                   &op::expert_block_linear,
                                   &op::expert_quantized_block_linear,
                                   &op::merge_rows,
                                   &op::quantized_linear,
                                   &op::block_linear,
                                   &op::quantized_block_linear,
                                   &op::layer_norm,
                                   &op::rms_norm,
                                   &op::add_layer_norm,
                                   &op::add_rms_norm,
                                   &op::activation,
                                   &op::gated_activation,
                                   &op::gate,
                                   &op::clamped_gate,
                                   &op::affine,
                                   &op::soft_cap,
                                   &op::attention,
                                   &op::cached_attention};
  return std::find(std::begin(operations), std::end(operations), operation) != std::end(operations);
}

/// And of these can round to s8 by a static scale.
bool quantises_when_storing(const Operation* operation) {
  const Operation* operations[] = {&op::quantized_linear, &op::layer_norm, &op::rms_norm,         &op::add_layer_norm,
                                   &op::add_rms_norm,     &op::activation, &op::gated_activation, &op::gate};
  return std::find(std::begin(operations), std::end(operations), operation) != std::end(operations);
}

/// What one rounding can do that two did: 32 bits to fewer, or any float to s8.
bool folds_into(const Node& producer, const Node& cast, DType from) {
  if (cast.attributes.output_scale != 0) return quantises_when_storing(producer.operation);
  return from == DType::f32 && rounds_when_storing(producer.operation);
}

/// A value that only a cast reads is stored in the cast's dtype.
void fold_casts(Program& program) {
  Edit edit(program);
  for (std::size_t i = 0; i < edit.size(); ++i) {
    const Node& node = edit.node(i);
    if (node.operation != &op::cast || program.value(node.outputs[0]).constant) continue;
    const ValueId from = node.inputs[0];
    if (edit.uses(from) != 1) continue;
    for (std::size_t maker = 0; maker < i; ++maker) {
      Node& producer = program.nodes[maker];
      const auto place = std::find(producer.outputs.begin(), producer.outputs.end(), from);
      if (place == producer.outputs.end() || !folds_into(producer, node, program.value(from).dtype)) continue;
      *place = node.outputs[0];
      producer.attributes.output_scale = node.attributes.output_scale;
      edit.remove(i);
    }
  }
  edit.apply();
}

}  // namespace

std::vector<std::size_t> AttentionParts::before_context() const {
  std::vector<std::size_t> nodes = casts;
  nodes.insert(nodes.end(), {scores, softmax});
  if (cap != nowhere) nodes.push_back(cap);
  return nodes;
}

std::optional<AttentionParts> attention_parts(const Edit& edit, std::size_t context) {
  if (edit.node(context).operation != &op::attention_context || edit.taken(context)) return std::nullopt;
  AttentionParts parts;
  parts.softmax = edit.sole_producer(behind_cast(edit, edit.node(context).inputs[0], parts.casts), op::softmax);
  if (parts.softmax == nowhere) return std::nullopt;
  ValueId scores = behind_cast(edit, edit.node(parts.softmax).inputs[0], parts.casts);
  parts.cap = edit.sole_producer(scores, op::soft_cap);
  if (parts.cap != nowhere) scores = behind_cast(edit, edit.node(parts.cap).inputs[0], parts.casts);
  parts.scores = edit.sole_producer(scores, op::attention_scores);
  if (parts.scores == nowhere) return std::nullopt;
  return parts;
}

Node whole_attention(const Edit& edit, const AttentionParts& parts, std::size_t context) {
  const Node& scores = edit.node(parts.scores);
  const Node& softmax = edit.node(parts.softmax);
  Node whole = edit.node(context);
  whole.operation = &op::attention;
  const ValueId mask = has_input(softmax, 1) ? softmax.inputs[1] : no_value;
  whole.inputs = {scores.inputs[0], scores.inputs[1], whole.inputs[1], mask};
  if (has_input(softmax, 2)) whole.inputs.push_back(softmax.inputs[2]);
  whole.attributes = scores.attributes;
  if (parts.cap != nowhere) whole.attributes.cap = edit.node(parts.cap).attributes.cap;
  return whole;
}

Program fuse(const Program& program, Purpose purpose) {
  Program result = program;
  if (purpose == Purpose::training) {
    gate_two(result);
  } else {
    join_linears(result);
    gate(result);
    fuse_activation(result);
  }
  fuse_residual(result, purpose);
  fuse_attention(result);
  fold_casts(result);
  if (purpose == Purpose::training) fold_parameter_casts(result);
  return result;
}

}  // namespace assay
