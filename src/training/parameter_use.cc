#include "training/parameter_use.h"

#include "program/operation.h"

namespace assay {
namespace {

/// A gain that is stored less its shift is read by op::affine first.
bool reads_norms(const Operation* operation) {
  return operation == &op::layer_norm || operation == &op::rms_norm || operation == &op::affine;
}

bool reads_tables(const Operation* operation) {
  return operation == &op::embedding || operation == &op::add_rows;
}

/// Of a weight with one axis: an addend, where a gain multiplies.
bool is_bias(const Node& node, std::size_t place) {
  constexpr std::size_t bias_of_norm = 2;
  return !reads_norms(node.operation) || place == bias_of_norm;
}

ParameterUse use_of(const Node& node, std::size_t place, std::size_t axes) {
  ParameterUse use{node.role, {}};
  if (reads_norms(node.operation)) use.kinds.push_back(ParameterKind::norms);
  if (axes == 1 && is_bias(node, place)) use.kinds.push_back(ParameterKind::biases);
  if (reads_tables(node.operation)) use.kinds.push_back(ParameterKind::embeddings);
  return use;
}

}  // namespace

std::map<std::string, ParameterUse> parameter_uses(const Program& program) {
  std::map<std::string, ParameterUse> uses;
  for (const Node& node : program.nodes) {
    for (std::size_t place = 0; place < node.inputs.size(); ++place) {
      if (!has_input(node, place)) continue;
      const Value& value = program.value(node.inputs[place]);
      if (value.source == Source::weight) uses.try_emplace(value.name, use_of(node, place, value.shape.size()));
    }
  }
  return uses;
}

}  // namespace assay
