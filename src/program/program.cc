#include "program/program.h"

#include <cmath>

#include "base/error.h"
#include "program/operation.h"

namespace assay {
namespace {

std::int64_t power(std::int64_t base, int exponent) {
  std::int64_t result = 1;
  for (int i = 0; i < exponent; ++i) result *= base;
  return result;
}

}  // namespace

std::int64_t Dim::at(Extent extent) const {
  return factor * power(extent.batch, batch_power) * power(extent.seq, seq_power);
}

Dim operator*(Dim a, Dim b) {
  return {a.factor * b.factor, static_cast<std::uint8_t>(a.batch_power + b.batch_power),
          static_cast<std::uint8_t>(a.seq_power + b.seq_power)};
}

Dim dim(std::int64_t extent) {
  ASSAY_ASSERT(extent > 0);
  return {extent, 0, 0};
}

Shape concrete(const SymbolicShape& shape, Extent extent) {
  Shape result;
  result.reserve(shape.size());
  for (const Dim& axis : shape) result.push_back(axis.at(extent));
  return result;
}

const char* name(Activation activation) {
  switch (activation) {
    case Activation::none:
      return "none";
    case Activation::relu:
      return "relu";
    case Activation::gelu_erf:
      return "gelu_erf";
    case Activation::gelu_tanh:
      return "gelu_tanh";
    case Activation::silu:
      return "silu";
    case Activation::tanh:
      return "tanh";
  }
  return "?";
}

const char* name(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::optimizer:
      return "optimizer";
  }
  return "?";
}

ValueId Program::output(std::string_view wanted) const {
  for (const NamedValue& output : outputs) {
    if (output.name == wanted) return output.value;
  }
  return no_value;
}

double flops(const Program& program, const Node& node, Extent extent) {
  return node.operation->flops(program, node, extent);
}

double bytes(const Program& program, const Node& node, Extent extent) {
  return node.operation->bytes(program, node, extent);
}

std::int64_t storage_bytes(const Program& program, ValueId id, Extent extent) {
  const Value& value = program.value(id);
  return element_count(concrete(value.shape, extent)) * static_cast<std::int64_t>(size_of(value.dtype));
}

std::vector<int> use_counts(const Program& program) {
  std::vector<int> uses(program.values.size(), 0);
  for (const Node& node : program.nodes) {
    for (const ValueId id : node.inputs) {
      if (id != no_value) ++uses[static_cast<std::size_t>(id)];
    }
  }
  for (const NamedValue& output : program.outputs) ++uses[static_cast<std::size_t>(output.value)];
  return uses;
}

std::vector<std::string> output_names(const Program& program) {
  std::vector<std::string> names;
  for (const NamedValue& output : program.outputs) names.push_back(output.name);
  return names;
}

}  // namespace assay
