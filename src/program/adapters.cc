#include "program/adapters.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "program/operation.h"

namespace assay {
namespace {

constexpr std::string_view weight_ending = ".weight";
constexpr std::string_view a_ending = ".lora_A.weight";
constexpr std::string_view b_ending = ".lora_B.weight";

/// The values that linear layers alone read as their weight: how often each. A table that a head shares is none.
std::map<ValueId, int> weights_of_linears(const Program& program) {
  std::map<ValueId, int> readers;
  for (const Node& node : program.nodes) {
    if (node.operation == &op::linear && program.value(node.inputs[1]).source == Source::weight)
      ++readers[node.inputs[1]];
  }
  const std::vector<int> uses = use_counts(program);
  std::erase_if(readers, [&](const auto& one) { return one.second != uses[static_cast<std::size_t>(one.first)]; });
  return readers;
}

/// The module of a node that is such a linear layer; empty for all others.
std::string module_of(const Program& program, const Node& node, const std::map<ValueId, int>& weights) {
  if (node.operation != &op::linear || !weights.contains(node.inputs[1])) return "";
  const std::string& name = program.value(node.inputs[1]).name;
  return name.ends_with(weight_ending) ? name.substr(0, name.size() - weight_ending.size()) : "";
}

/// Copies a program and puts adapters behind its linear layers.
class Adapting {
 public:
  Adapting(const Program& program, double rate) : program_(program), rate_(rate) {
    first_dropout_ = std::count_if(program.nodes.begin(), program.nodes.end(),
                                   [](const Node& node) { return node.operation == &op::dropout; });
    nodes_ = std::move(program_.nodes);
    program_.nodes.clear();
  }

  Program run(const std::map<std::string, const Adapter*>& by_module, const std::map<ValueId, int>& weights) {
    for (Node& node : nodes_) {
      const auto found = by_module.find(module_of(program_, node, weights));
      program_.nodes.push_back(std::move(node));
      if (found != by_module.end()) append(*found->second);
    }
    return std::move(program_);
  }

 private:
  ValueId add_value(const std::string& name, SymbolicShape shape, Source source) {
    program_.values.push_back({name, DType::f32, std::move(shape), source, source == Source::weight});
    return static_cast<ValueId>(program_.values.size()) - 1;
  }

  /// The same value for every layer that reads the module's weight.
  ValueId weight(const std::string& name, Dim rows, Dim columns) {
    const auto known = weights_.find(name);
    if (known != weights_.end()) return known->second;
    return weights_[name] = add_value(name, {rows, columns}, Source::weight);
  }

  ValueId input(const std::string& name, std::int64_t extent) {
    for (const NamedValue& in : program_.inputs) {
      if (in.name == name) return in.value;
    }
    const ValueId id = add_value(name, {dim(extent)}, Source::input);
    program_.value(id).dtype = DType::s32;
    program_.inputs.push_back({name, id});
    return id;
  }

  /// Behind the last node, under its path.
  ValueId add(const Operation& operation, std::vector<ValueId> inputs, const std::string& path,
              const Attributes& attributes = {}) {
    Node node{&operation, std::move(inputs), {}, attributes, path, program_.nodes.back().role};
    node.outputs = {add_value(path, operation.shapes(program_, node)[0], Source::computed)};
    program_.nodes.push_back(std::move(node));
    return program_.nodes.back().outputs[0];
  }

  ValueId dropped(ValueId x, const std::string& path) {
    if (rate_ == 0) return x;
    const Attributes attributes = {.rate = rate_, .stream = first_dropout_++};
    return add(op::dropout, {x, input("seed", 2), input("first_row", 1)}, path, attributes);
  }

  void append(const Adapter& adapter) {
    const std::size_t base = program_.nodes.size() - 1;
    const std::string path = program_.nodes[base].path;
    const ValueId x = program_.nodes[base].inputs[0];
    const ValueId y = program_.nodes[base].outputs[0];
    const ValueId alone = add_value(path, program_.value(y).shape, Source::computed);
    program_.nodes[base].outputs[0] = alone;
    const Dim rank = dim(adapter.rank);
    const ValueId a = weight(adapter_a(adapter.module), rank, program_.value(x).shape.back());
    const ValueId b = weight(adapter_b(adapter.module), program_.value(y).shape.back(), rank);
    ValueId narrow = add(op::linear, {dropped(x, path + ".lora_dropout"), a, no_value}, path + ".lora_A");
    if (adapter.scale != 1) narrow = add(op::affine, {narrow}, path + ".lora_A", {.scale = adapter.scale});
    const ValueId wide = add(op::linear, {narrow, b, no_value}, path + ".lora_B");
    program_.nodes.push_back({&op::add, {alone, wide}, {y}, {}, path, program_.nodes[base].role});
  }

  Program program_;
  std::vector<Node> nodes_;
  double rate_;
  std::map<std::string, ValueId> weights_;
  std::int64_t first_dropout_ = 0;  ///< Behind the streams of the model's own.
};

}  // namespace

std::string adapter_a(const std::string& module) {
  return module + std::string(a_ending);
}

std::string adapter_b(const std::string& module) {
  return module + std::string(b_ending);
}

bool is_adapter_weight(std::string_view name) {
  return name.ends_with(a_ending) || name.ends_with(b_ending);
}

std::string adapted_module(const std::string& weight) {
  ASSAY_ASSERT(is_adapter_weight(weight));
  return weight.substr(0, weight.size() - a_ending.size());
}

std::vector<std::string> adaptable_modules(const Program& program) {
  const std::map<ValueId, int> weights = weights_of_linears(program);
  std::vector<std::string> modules;
  for (const Node& node : program.nodes) {
    std::string module = module_of(program, node, weights);
    const bool is_known = std::find(modules.begin(), modules.end(), module) != modules.end();
    if (!module.empty() && !is_known) modules.push_back(std::move(module));
  }
  return modules;
}

Program with_adapters(const Program& program, const std::vector<Adapter>& adapters, double dropout) {
  std::map<std::string, const Adapter*> by_module;
  for (const Adapter& adapter : adapters) by_module.emplace(adapter.module, &adapter);
  const std::vector<std::string> there = adaptable_modules(program);
  for (const Adapter& adapter : adapters)
    ASSAY_ASSERT(std::find(there.begin(), there.end(), adapter.module) != there.end());
  return Adapting(program, dropout).run(by_module, weights_of_linears(program));
}

}  // namespace assay
