#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "program/operation.h"
#include "program/program.h"

namespace assay {

inline constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

/// A program under change: who makes and who reads each value, and what shall stand in a node's place. `apply` carries
/// the replacements out and drops what nobody reads any more.
class Edit {
 public:
  explicit Edit(Program& program) : program_(program), replaced_(program.nodes.size()), uses_(use_counts(program)) {
    producer_.resize(program.values.size(), nowhere);
    for (std::size_t i = 0; i < program.nodes.size(); ++i) {
      for (const ValueId id : program.nodes[i].outputs) {
        if (id != no_value) producer_[static_cast<std::size_t>(id)] = i;
      }
    }
  }

  Program& program() { return program_; }
  const Node& node(std::size_t index) const { return program_.nodes[index]; }
  std::size_t size() const { return program_.nodes.size(); }
  int uses(ValueId id) const { return uses_[static_cast<std::size_t>(id)]; }
  bool taken(std::size_t index) const { return replaced_[index].has_value(); }

  /// The node that makes `id`, if it is of that operation, not yet rewritten, and nobody else reads `id`.
  std::size_t sole_producer(ValueId id, const Operation& operation) const {
    if (id == no_value || uses(id) != 1) return nowhere;
    return producer(id, operation);
  }
  std::size_t producer(ValueId id, const Operation& operation) const {
    const std::size_t index = id == no_value ? nowhere : producer_[static_cast<std::size_t>(id)];
    return index != nowhere && node(index).operation == &operation && !taken(index) ? index : nowhere;
  }

  /// The same, of whatever operation.
  std::size_t sole_producer(ValueId id) const {
    const std::size_t index = uses(id) == 1 ? producer_[static_cast<std::size_t>(id)] : nowhere;
    return index != nowhere && !taken(index) ? index : nowhere;
  }
  void made_by(ValueId id, std::size_t index) { producer_[static_cast<std::size_t>(id)] = index; }

  void replace(std::size_t index, std::vector<Node> nodes) { replaced_[index] = std::move(nodes); }
  void remove(std::size_t index) { replaced_[index].emplace(); }

  ValueId add_value(Value value) {
    program_.values.push_back(std::move(value));
    return static_cast<ValueId>(program_.values.size()) - 1;
  }

  void apply() {
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < replaced_.size(); ++i) {
      if (!replaced_[i]) nodes.push_back(std::move(program_.nodes[i]));
      for (Node& node : replaced_[i] ? *replaced_[i] : std::vector<Node>{}) nodes.push_back(std::move(node));
    }
    // A fused operation may stand before a constant, or before what is made of a parameter alone, that one of its parts
    // used: those go first, and behind the others those that stack them.
    std::vector<bool> given(program_.values.size());
    for (std::size_t id = 0; id < given.size(); ++id) given[id] = is_given(program_.values[id]);
    const auto constants_end =
        std::stable_partition(nodes.begin(), nodes.end(), [&](const Node& node) { return needs_nothing(node, given); });
    std::stable_partition(nodes.begin(), constants_end,
                          [](const Node& node) { return node.operation != &op::concat_rows; });
    program_.nodes = std::move(nodes);
  }

 private:
  static bool is_given(const Value& value) { return value.source == Source::state || value.constant; }

  /// Makes a constant, or changes the values of a parameter; `given`: values that are known before, to which it adds.
  bool needs_nothing(const Node& node, std::vector<bool>& given) const {
    const bool is_change = node.operation == &op::cast || node.operation == &op::affine;
    if (is_change && given[static_cast<std::size_t>(node.inputs[0])]) {
      given[static_cast<std::size_t>(node.outputs[0])] = true;
      return true;
    }
    return std::all_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId id) { return id != no_value && program_.value(id).constant; });
  }

  Program& program_;
  std::vector<std::optional<std::vector<Node>>> replaced_;
  std::vector<int> uses_;
  std::vector<std::size_t> producer_;
};

/// The nodes that are one attention: those of scores, a soft cap if there is one, softmax and context, and the casts
/// between them.
struct AttentionParts {
  std::size_t scores = nowhere;
  std::size_t cap = nowhere;
  std::size_t softmax = nowhere;
  std::vector<std::size_t> casts;

  std::vector<std::size_t> before_context() const;
};
/// Of the attention that ends in node `context`; absent where that is no such node, or others read what is between. In
/// fuse.cc.
std::optional<AttentionParts> attention_parts(const Edit& edit, std::size_t context);
/// q, k, v and the mask, if there is one, of an attention in one operation, and what it needs to know.
Node whole_attention(const Edit& edit, const AttentionParts& parts, std::size_t context);

/// f(x) * y of two values; x and y stay for the gradient, f(x) need not. In fuse_training.cc, as the next.
void gate_two(Program& program);
/// A parameter that is cast for a linear is cast by the kernel that packs it: no 16-bit copy is kept.
void fold_parameter_casts(Program& program);

}  // namespace assay
