#include "studies/attention/step.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "program/builder.h"
#include "program/passes.h"
#include "runtime/layout.h"

namespace assay {
namespace {

constexpr const char* parameters[] = {"q", "k", "v"};

/// q, k, v -> y, in f32 and in parts.
Program forward_program(const AttentionShape& shape) {
  Attributes attributes;
  attributes.heads = attributes.kv_heads = shape.heads;
  attributes.head_dim = shape.head_dim;
  attributes.causal = shape.causal;
  Attributes scaled = attributes;
  scaled.scale = 1 / std::sqrt(static_cast<double>(shape.head_dim));
  Builder b;
  const auto weight = [&](const char* name) {
    return b.weight(name, {dim_batch, dim_seq, dim(shape.heads * shape.head_dim)});
  };
  b.at("attention.scores", Role::attention);
  const ValueId scores = b.add(op::attention_scores, {weight("q"), weight("k")}, scaled);
  b.at("attention.softmax", Role::softmax);
  const ValueId p = b.add(op::softmax, {scores, no_value}, scaled);
  b.at("attention.context", Role::attention);
  b.output("y", b.add(op::attention_context, {p, weight("v")}, attributes));
  return b.take();
}

/// Where a step lies that is run; one that is only laid out lies nowhere.
struct StepMemory {
  State* state = nullptr;
  std::optional<std::int64_t> free_bytes = std::nullopt;
};

PlanOptions options_of(const Program& program, Extent extent, const StepMemory& memory) {
  PlanOptions options;
  options.extent = extent;
  options.state = memory.state;
  options.free_bytes = memory.free_bytes;
  options.outputs = {"y"};
  for (const NamedValue& output : program.outputs) {
    if (output.name != "y") options.outputs.push_back(output.name);
  }
  return options;
}

/// Values that a node of the backward reads.
std::set<ValueId> read_by_backward(const Program& program) {
  std::set<ValueId> read;
  for (const Node& node : program.nodes) {
    if (node.phase == Phase::backward) read.insert(node.inputs.begin(), node.inputs.end());
  }
  return read;
}

/// Steps of the layout that are forward.
int forward_steps(const Program& program, const Layout& layout) {
  int steps = 0;
  for (const std::size_t node : layout.nodes) steps += program.nodes[node].phase == Phase::forward ? 1 : 0;
  return steps;
}

std::vector<std::byte> normal_bytes(DType dtype, std::size_t count, Random random) {
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(random.next_normal());
  std::vector<std::byte> bytes(count * size_of(dtype));
  convert(DType::f32, numbers.data(), dtype, bytes.data(), count);
  return bytes;
}

}  // namespace

const char* name(AttentionMethod method) {
  return method == AttentionMethod::naive ? "naive" : "fused";
}

Program attention_program(const AttentionShape& shape, const PrecisionChoice& precision) {
  if (!precision.row.gradients)
    fail_user("{}: is a precision for inference; it has no backward to measure", precision.row.name);
  Program program = assign_training_dtypes(forward_program(shape), precision);
  if (shape.method == AttentionMethod::fused) program = fuse(program, Purpose::training);
  DifferentiateOptions options;
  options.of = "y";
  options.seed = "dy";
  return differentiate(program, options);
}

AttentionMemory attention_memory(const Program& program, Extent extent) {
  const Layout layout = lay_out(program, options_of(program, extent, {}));
  const std::set<ValueId> read = read_by_backward(program);
  const int last_forward = forward_steps(program, layout);
  AttentionMemory memory;
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const Value& value = program.values[i];
    const Placement& place = layout.values[i];
    const bool parameter = value.source == Source::state && !value.name.starts_with("grad.");
    const bool kept = value.source == Source::computed && place.bytes > 0 && place.first_step <= last_forward &&
                      place.last_step > last_forward;
    if (!parameter && !kept) continue;
    const std::int64_t bytes = storage_bytes(program, id, extent);
    memory.before_backward_bytes += bytes;
    if (read.count(id) != 0 || parameter) memory.saved_bytes += bytes;
  }
  memory.peak_bytes = layout.bytes + missing_state_bytes(program, {}, extent);
  return memory;
}

AttentionStep::AttentionStep(const Program& program, const PrecisionChoice& precision, const Backend& backend,
                             const MachineFacts& facts, Extent extent, std::optional<std::int64_t> free_bytes)
    : instance_(program, precision, no_weights_, backend, facts),
      state_(backend.memory()),
      plan_(std::make_unique<Plan>(instance_, options_of(instance_.program(), extent, {&state_, free_bytes}))) {}

void AttentionStep::fill(std::uint64_t seed) {
  for (std::size_t i = 0; i < std::size(parameters); ++i) {
    Tensor& tensor = *state_.find(parameters[i]);
    const auto bytes = normal_bytes(tensor.dtype(), static_cast<std::size_t>(tensor.count()), Random(seed, i));
    std::copy(bytes.begin(), bytes.end(), tensor.data());
    state_.store(parameters[i]);
  }
  const TensorView y = plan_->output("y").tensor;
  const auto dy = normal_bytes(y.dtype, static_cast<std::size_t>(y.count()), Random(seed, std::size(parameters)));
  plan_->set_input("dy", dy);
}

}  // namespace assay
