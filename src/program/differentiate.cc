#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "program/gradient.h"
#include "program/passes.h"

namespace assay {
namespace {

/// "layers.3" of "layers.3.attn.q_proj"; nothing outside blocks.
std::string_view block_of(std::string_view path) {
  constexpr std::string_view prefix = "layers.";
  if (!path.starts_with(prefix)) return {};
  return path.substr(0, std::min(path.find('.', prefix.size()), path.size()));
}

bool makes_attention_matrix(const Node& node) {
  return node.operation == &op::attention_scores || node.operation == &op::relative_scores ||
         node.operation == &op::softmax;
}

/// What gives a value of its input's size, element by element.
bool is_elementwise(const Node& node) {
  return node.operation == &op::cast || node.operation == &op::dropout;
}

/// Finds the forward values that the backward reads: kept ones as they are, others through a copy of what made them.
class SavedValues {
 public:
  SavedValues(Program& program, Recompute recompute) : program_(program), recompute_(recompute) {
    producer_.resize(program.values.size(), nowhere);
    for (std::size_t i = 0; i < program.nodes.size(); ++i) {
      for (const ValueId id : program.nodes[i].outputs) {
        if (id != no_value) producer_[static_cast<std::size_t>(id)] = i;
      }
    }
  }

  /// `id` as the backward of `reader` sees it.
  ValueId find(ValueId id, const Node& reader) {
    if (id == no_value || !is_computed_again(id, reader)) return id;
    if (const auto known = again_.find(id); known != again_.end()) return known->second;
    Node copy = program_.nodes[producer(id)];
    for (ValueId& in : copy.inputs) in = find(in, reader);
    copy.phase = Phase::backward;
    for (ValueId& out : copy.outputs) {
      if (out == no_value) continue;
      const ValueId made = static_cast<ValueId>(program_.values.size());
      program_.values.push_back(Value(program_.value(out)));
      again_[out] = made;
      out = made;
    }
    program_.nodes.push_back(std::move(copy));
    return again_.at(id);
  }

 private:
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

  std::size_t producer(ValueId id) const {
    return static_cast<std::size_t>(id) < producer_.size() ? producer_[static_cast<std::size_t>(id)] : nowhere;
  }

  bool is_computed_again(ValueId id, const Node& reader) const {
    // What is constant is held anyway.
    if (recompute_ == Recompute::none || producer(id) == nowhere || program_.value(id).constant) return false;
    const Node& maker = program_.nodes[producer(id)];
    if (recompute_ == Recompute::attention) return is_attention_matrix(id);
    const std::string_view block = block_of(maker.path);
    return !block.empty() && block == block_of(reader.path);
  }

  /// Scores and probabilities, in whichever dtype and after whatever keeps their T x T elements.
  bool is_attention_matrix(ValueId id) const {
    if (producer(id) == nowhere) return false;
    const Node& maker = program_.nodes[producer(id)];
    return makes_attention_matrix(maker) || (is_elementwise(maker) && is_attention_matrix(maker.inputs[0]));
  }

  Program& program_;
  Recompute recompute_;
  std::vector<std::size_t> producer_;
  std::map<ValueId, ValueId> again_;
};

/// A part of a value's gradient that covers some of its columns.
struct Columns {
  std::int64_t offset = 0;
  ValueId gradient = no_value;
};

class Differentiator final : public GradientBuilder {
 public:
  Differentiator(Program program, const DifferentiateOptions& options)
      : program_(std::move(program)),
        forward_nodes_(program_.nodes.size()),
        saved_(program_, options.recompute),
        destination_(options.gradients),
        stored_as_(options.stored_as) {
    gradients_.resize(program_.values.size(), no_value);
    columns_.resize(program_.values.size());
    find_wanted();
  }

  Program run(ValueId result, ValueId seed) {
    gradients_[index(result)] = seed;
    for (std::size_t i = forward_nodes_; i-- > 0;) {
      node_ = program_.nodes[i];
      if (reaches_result() && leads_to_parameter()) differentiate_node();
    }
    name_parameter_gradients();
    return std::move(program_);
  }

  ValueId of_output(std::size_t place) const override {
    const ValueId id = place < node_.outputs.size() ? node_.outputs[place] : no_value;
    return id == no_value ? no_value : gradients_[index(id)];
  }
  bool wanted(std::size_t place) const override {
    return has_input(node_, place) && wanted_[index(node_.inputs[place])];
  }
  std::int64_t rows_of(ValueId table) const override { return program_.value(table).shape[0].factor; }
  std::int64_t width_of(ValueId value) const override { return program_.value(value).shape.back().factor; }
  ValueId saved(ValueId forward) override { return saved_.find(forward, node_); }

  std::vector<ValueId> add(const Operation& operation, std::vector<ValueId> inputs, const Attributes& attributes,
                           const std::vector<ValueId>& like) override {
    Node node{&operation, std::move(inputs), {}, attributes, node_.path, node_.role, Phase::backward};
    const std::vector<SymbolicShape> shapes = operation.shapes(program_, node);
    ASSAY_ASSERT(like.size() <= shapes.size());
    for (std::size_t i = 0; i < like.size(); ++i) {
      node.outputs.push_back(no_value);
      if (like[i] == no_value) continue;
      node.outputs[i] = static_cast<ValueId>(program_.values.size());
      program_.values.push_back({node_.path, program_.value(like[i]).dtype, shapes[i], Source::computed, false});
    }
    program_.nodes.push_back(node);
    return node.outputs;
  }

  void give(std::size_t place, ValueId gradient) override {
    if (gradient == no_value || !wanted(place)) return;
    const ValueId id = node_.inputs[place];
    if (program_.value(gradient).dtype != program_.value(id).dtype) gradient = add(op::cast, {gradient}, {}, {id})[0];
    ValueId& known = gradients_[index(id)];
    known = known == no_value ? gradient : add(op::add, {known, gradient}, {}, {id})[0];
  }

  void give_columns(std::size_t place, std::int64_t offset, ValueId gradient) override {
    if (gradient != no_value && wanted(place)) columns_[index(node_.inputs[place])].push_back({offset, gradient});
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

  /// A value is wanted if it is a parameter or computed from one that is, in floats.
  void find_wanted() {
    wanted_.resize(program_.values.size(), false);
    for (std::size_t i = 0; i < wanted_.size(); ++i) wanted_[i] = program_.values[i].source == Source::state;
    for (const Node& node : program_.nodes) {
      const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                   [&](ValueId id) { return id != no_value && wanted_[index(id)]; });
      for (const ValueId id : node.outputs) {
        if (id != no_value) wanted_[index(id)] = any && is_float(program_.value(id).dtype);
      }
    }
  }

  bool leads_to_parameter() const {
    return std::any_of(node_.outputs.begin(), node_.outputs.end(),
                       [&](ValueId id) { return id != no_value && wanted_[index(id)]; });
  }

  bool reaches_result() {
    bool any = false;
    for (const ValueId id : node_.outputs) {
      if (id == no_value) continue;
      join_columns(id);
      any = any || gradients_[index(id)] != no_value;
    }
    return any;
  }

  void differentiate_node() {
    if (node_.operation->gradient == nullptr) {
      throw Error(ExitCode::defect, fmt::format("{} ({}): has no gradient", node_.path, node_.operation->name));
    }
    node_.operation->gradient(*this, node_);
  }

  /// The gradient of a value that was read in parts: the parts side by side. They must cover it.
  void join_columns(ValueId id) {
    std::vector<Columns>& parts = columns_[index(id)];
    if (parts.empty()) return;
    std::sort(parts.begin(), parts.end(), [](const Columns& a, const Columns& b) { return a.offset < b.offset; });
    std::vector<ValueId> inputs;
    std::int64_t end = 0;
    for (const Columns& part : parts) {
      ASSAY_ASSERT(part.offset == end);
      end += program_.value(part.gradient).shape.back().factor;
      inputs.push_back(part.gradient);
    }
    ASSAY_ASSERT(end == program_.value(id).shape.back().factor && gradients_[index(id)] == no_value);
    gradients_[index(id)] = add(op::concat_columns, inputs, {}, {id})[0];
  }

  /// Two parameters that receive the same gradient, or the seed, need a tensor each.
  void copy_gradient(std::size_t parameter) {
    gradients_[parameter] = add(op::cast, {gradients_[parameter]}, {}, {static_cast<ValueId>(parameter)})[0];
  }

  void name_parameter_gradients() {
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      if (program_.values[i].source != Source::state || gradients_[i] == no_value) continue;
      if (program_.value(gradients_[i]).source != Source::computed) copy_gradient(i);
      if (stored_as_) program_.value(gradients_[i]).dtype = *stored_as_;
      if (destination_ == Gradients::added) add_to_state(i);
      Value& gradient = program_.value(gradients_[i]);
      gradient.name = "grad." + program_.values[i].name;
      gradient.source = Source::state;
      program_.outputs.push_back({gradient.name, gradients_[i]});
    }
  }

  /// The sum is written where its first part was.
  void add_to_state(std::size_t parameter) {
    const ValueId part = gradients_[parameter];
    gradients_[parameter] = add(op::add, {part, part}, {}, {part})[0];
    program_.nodes.back().inputs[0] = gradients_[parameter];
  }

  Program program_;
  std::size_t forward_nodes_;
  SavedValues saved_;
  Gradients destination_;
  std::optional<DType> stored_as_;
  Node node_;                 ///< The forward node whose rule runs; a copy, since nodes are appended meanwhile.
  std::vector<bool> wanted_;  ///< By forward value, as the two below.
  std::vector<ValueId> gradients_;
  std::vector<std::vector<Columns>> columns_;
};

/// The input of that name: gradients start from it.
ValueId seed_input(Program& program, const std::string& name, ValueId result) {
  for (const NamedValue& input : program.inputs) {
    if (input.name == name) return input.value;
  }
  const auto id = static_cast<ValueId>(program.values.size());
  const Value& value = program.value(result);
  program.values.push_back({name, value.dtype, value.shape, Source::input, false});
  program.inputs.push_back({name, id});
  return id;
}

constexpr const char* recompute_names[] = {"none", "attention", "block"};

}  // namespace

void give_result(GradientBuilder& g, const Node& node, std::size_t input, const Operation& operation,
                 std::vector<ValueId> inputs, const Attributes& attributes) {
  if (g.wanted(input)) g.give(input, g.add(operation, std::move(inputs), attributes, {node.inputs[input]})[0]);
}

ValueId like_wanted(const GradientBuilder& g, const Node& node, std::size_t input) {
  return g.wanted(input) ? node.inputs[input] : no_value;
}

const char* name(Recompute recompute) {
  return recompute_names[static_cast<std::size_t>(recompute)];
}

Recompute parse_recompute(std::string_view text) {
  const auto* found = std::find(std::begin(recompute_names), std::end(recompute_names), text);
  if (found == std::end(recompute_names)) fail_user("--recompute '{}': none, attention and block are known", text);
  return static_cast<Recompute>(found - recompute_names);
}

Program differentiate(const Program& program, const DifferentiateOptions& options) {
  Program step = program;
  const ValueId result = step.output(options.of);
  ASSAY_ASSERT(result != no_value);
  const ValueId start = seed_input(step, options.seed, result);
  return Differentiator(std::move(step), options).run(result, start);
}

}  // namespace assay
