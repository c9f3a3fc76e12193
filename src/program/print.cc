#include <fmt/format.h>
#include <fmt/ranges.h>

#include "program/operation.h"
#include "program/program.h"

namespace assay {
namespace {

std::string to_string(Dim axis) {
  std::string text;
  for (int i = 0; i < axis.batch_power; ++i) text += text.empty() ? "B" : "*B";
  for (int i = 0; i < axis.seq_power; ++i) text += text.empty() ? "T" : "*T";
  if (text.empty()) return std::to_string(axis.factor);
  return axis.factor == 1 ? text : fmt::format("{}*{}", axis.factor, text);
}

std::string describe(const Program& program, ValueId id) {
  if (id == no_value) return "-";
  const Value& value = program.value(id);
  return fmt::format("%{} {} {}", id, name(value.dtype), assay::to_string(value.shape));
}

std::string list(const Program& program, const std::vector<ValueId>& ids) {
  std::vector<std::string> parts;
  for (const ValueId id : ids) parts.push_back(describe(program, id));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string attributes(const Node& node) {
  const Attributes& a = node.attributes;
  std::vector<std::string> parts;
  if (a.epsilon != 0) parts.push_back(fmt::format("epsilon={:g}", a.epsilon));
  if (a.activation != Activation::none) parts.push_back(name(a.activation));
  if (a.heads != 0) parts.push_back(fmt::format("heads={}", a.heads));
  if (a.kv_heads != 0 && a.kv_heads != a.heads) parts.push_back(fmt::format("kv_heads={}", a.kv_heads));
  if (a.causal) parts.push_back("causal");
  if (a.experts != 0) parts.push_back(fmt::format("experts={}", a.experts));
  if (a.active_experts != 0) parts.push_back(fmt::format("active={}", a.active_experts));
  if (a.cap != 0) parts.push_back(fmt::format("cap={:g}", a.cap));
  if (node.operation == &op::affine) parts.push_back(fmt::format("{:g} x + {:g}", a.scale, a.shift));
  if (a.window != 0) parts.push_back(fmt::format("window={}", a.window));
  if (node.operation == &op::rope) parts.push_back(fmt::format("theta={:g}", a.rope_theta));
  if (a.rotary_dim != 0) parts.push_back(fmt::format("turned={}", a.rotary_dim));
  if (a.rope_scaling.type != RopeType::plain) parts.push_back(name(a.rope_scaling.type));
  if (a.width != 0) parts.push_back(fmt::format("columns={}..{}", a.offset, a.offset + a.width));
  if (a.math != DType::f32) parts.push_back(fmt::format("math={}", name(a.math)));
  if (a.accumulator != DType::f32) parts.push_back(fmt::format("accumulator={}/{}", name(a.accumulator), a.chunk));
  if (a.blocks != nullptr) parts.push_back(a.blocks->name);
  return parts.empty() ? "" : fmt::format(" {{{}}}", fmt::join(parts, ", "));
}

}  // namespace

std::string to_string(const SymbolicShape& shape) {
  std::vector<std::string> axes;
  for (const Dim& axis : shape) axes.push_back(to_string(axis));
  return fmt::format("({})", fmt::join(axes, ", "));
}

std::string to_string(const Program& program) {
  std::string text;
  for (const NamedValue& input : program.inputs)
    text += fmt::format("input   {} = {}\n", describe(program, input.value), input.name);
  for (std::size_t id = 0; id < program.values.size(); ++id) {
    const Value& value = program.values[id];
    if (value.source == Source::weight)
      text += fmt::format("weight  {} = {}\n", describe(program, static_cast<ValueId>(id)), value.name);
  }
  for (const Node& node : program.nodes) {
    text += fmt::format("{} = {}({}){}   [{}, {}]\n", list(program, node.outputs), node.operation->name,
                        list(program, node.inputs), attributes(node), node.path, name(node.role));
  }
  for (const NamedValue& output : program.outputs)
    text += fmt::format("output  {} = {}\n", output.name, describe(program, output.value));
  return text;
}

}  // namespace assay
