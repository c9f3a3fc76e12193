#include "runtime/plan.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/units.h"
#include "runtime/arena.h"

namespace assay {
namespace {

bool reads_a_table(const Node& node) {
  return node.operation == &op::embedding || node.operation == &op::add_rows;
}

/// Nodes that run at every step and whose results somebody wants, in order.
std::vector<std::size_t> live_nodes(const Program& program, const std::vector<std::string>& outputs) {
  std::vector<bool> wanted(program.values.size(), false);
  for (const std::string& name : outputs) {
    const ValueId id = program.output(name);
    if (id == no_value) fail_user("output '{}': this model has none of that name", name);
    wanted[static_cast<std::size_t>(id)] = true;
  }
  std::vector<std::size_t> live;
  for (std::size_t index = program.nodes.size(); index-- > 0;) {
    const Node& node = program.nodes[index];
    const auto is_wanted = [&](ValueId id) {
      return id != no_value && !program.value(id).constant && wanted[static_cast<std::size_t>(id)];
    };
    if (std::none_of(node.outputs.begin(), node.outputs.end(), is_wanted)) continue;
    for (const ValueId id : node.inputs) {
      if (id != no_value) wanted[static_cast<std::size_t>(id)] = true;
    }
    live.push_back(index);
  }
  std::reverse(live.begin(), live.end());
  return live;
}

/// The value whose memory `id` is a window into, and where in it the window begins.
struct Window {
  ValueId root = no_value;
  std::int64_t offset_bytes = 0;
};

Window window(const Program& program, const std::vector<std::size_t>& producer, ValueId id) {
  Window result{id, 0};
  while (producer[static_cast<std::size_t>(result.root)] != static_cast<std::size_t>(-1)) {
    const Node& node = program.nodes[producer[static_cast<std::size_t>(result.root)]];
    if (!node.operation->alias) break;
    result.offset_bytes += node.attributes.offset * static_cast<std::int64_t>(size_of(program.value(id).dtype));
    result.root = node.inputs[0];
  }
  return result;
}

std::vector<std::size_t> producers(const Program& program) {
  std::vector<std::size_t> producer(program.values.size(), static_cast<std::size_t>(-1));
  for (std::size_t index = 0; index < program.nodes.size(); ++index) {
    for (const ValueId id : program.nodes[index].outputs) {
      if (id != no_value) producer[static_cast<std::size_t>(id)] = index;
    }
  }
  return producer;
}

}  // namespace

Plan::Plan(Instance& instance, PlanOptions options) : instance_(instance), options_(std::move(options)) {
  if (options_.extent.batch < 1 || options_.extent.seq < 1)
    fail_user("batch and sequence length: at least 1 is needed");
  place_values();
  refuse_what_does_not_fit();
  prepare_steps();
  bind();
}

/// Before a weight is read or a buffer allocated.
void Plan::refuse_what_does_not_fit() const {
  const std::int64_t needed = instance_.missing_bytes(options_.extent) + arena_bytes_;
  const std::int64_t available = instance_.facts().available_bytes - instance_.resident_bytes();
  if (instance_.facts().available_bytes <= 0 || needed <= available) return;
  throw OutOfMemory(
      fmt::format("memory: {} more are needed for weights and buffers, {} are available",
                  format_bytes(static_cast<double>(needed)), format_bytes(static_cast<double>(available))),
      static_cast<double>(needed), static_cast<double>(available));
}

/// Offsets of everything that is computed. Workspaces come behind, one for all steps, since steps run one after
/// another.
void Plan::place_values() {
  const Program& program = instance_.program();
  const std::vector<std::size_t> producer = producers(program);
  placements_.resize(program.values.size());
  const auto touch = [&](ValueId id, int step) {
    if (id == no_value || program.value(id).constant) return;
    const Window at = window(program, producer, id);
    Placement& root = placements_[static_cast<std::size_t>(at.root)];
    if (root.bytes == 0) {
      root.bytes = storage_bytes(program, at.root, options_.extent);
      root.first_step = step;
    }
    root.last_step = std::max(root.last_step, step);
  };
  int step = 0;
  for (const NamedValue& in : program.inputs) touch(in.value, 0);
  for (const std::size_t index : live_nodes(program, options_.outputs)) {
    const Node& node = program.nodes[index];
    if (!node.operation->alias) {
      steps_.emplace_back();
      steps_.back().node = index;
      ++step;
    }
    for (const ValueId id : node.inputs) touch(id, step);
    for (const ValueId id : node.outputs) touch(id, step);
  }
  for (const std::string& name : options_.outputs) touch(program.output(name), step + 1);
  for (const NamedValue& in : program.inputs) touch(in.value, step + 1);

  std::vector<Lifetime> lifetimes;
  std::vector<std::size_t> roots;
  for (std::size_t id = 0; id < placements_.size(); ++id) {
    const Placement& placement = placements_[id];
    if (placement.bytes == 0) continue;
    lifetimes.push_back({placement.bytes, placement.first_step, placement.last_step, -1});
    roots.push_back(id);
  }
  arena_bytes_ = arrange(lifetimes);
  for (std::size_t i = 0; i < roots.size(); ++i) placements_[roots[i]].offset = lifetimes[i].offset;

  for (std::size_t id = 0; id < placements_.size(); ++id) {
    const Value& value = program.values[id];
    if (value.constant) continue;
    const Window at = window(program, producer, static_cast<ValueId>(id));
    const Placement& root = placements_[static_cast<std::size_t>(at.root)];
    if (root.offset < 0) continue;
    placements_[id].offset = root.offset + at.offset_bytes;
    placements_[id].row_stride = program.value(at.root).shape.back().at(options_.extent);
  }
}

void Plan::prepare_steps() {
  const Program& program = instance_.program();
  // Tables come last: they are read in whatever layout the linear that shares the weight has chosen.
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!reads_a_table(program.nodes[steps_[i].node])) prepare_step(i);
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (reads_a_table(program.nodes[steps_[i].node])) prepare_step(i);
  }
}

void Plan::prepare_step(std::size_t index) {
  Step& step = steps_[index];
  const Program& program = instance_.program();
  const Node& node = program.nodes[step.node];
  Call call{node.operation, node.attributes, {}, {}, instance_.facts().threads};
  for (const ValueId id : node.inputs) {
    Argument argument = describe(program, id, options_.extent);
    if (argument.present && !argument.constant) argument.row_stride = placement(id).row_stride;
    if (argument.constant) {
      if (const Packing* packing = instance_.held_packing(id)) argument.packing = *packing;
    }
    const bool is_mask = id != no_value && program.value(id).name == "attention_mask";
    if (is_mask && !options_.masked) argument = {};
    call.inputs.push_back(std::move(argument));
  }
  for (const ValueId id : node.outputs) {
    call.outputs.push_back(describe(program, id, options_.extent));
    if (id != no_value && placement(id).offset < 0) call.outputs.back() = {};
  }
  Offer offer = prepare(instance_.backend(), call, instance_.facts());
  if (const auto* declined = std::get_if<Declined>(&offer)) {
    fail_lacking("{} ({}): {}", node.path, node.operation->name, declined->why);
  }
  Prepared& prepared = std::get<Prepared>(offer);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (!call.inputs[i].constant) {
      step.inputs.push_back(nullptr);
      continue;
    }
    Packing packing;
    packing.dtype = call.inputs[i].dtype;
    if (i < prepared.packing.size() && prepared.packing[i].kind != Packing::Kind::plain) packing = prepared.packing[i];
    step.inputs.push_back(instance_.hold(id, packing).data);
  }
  instance_.release_intermediates();
  workspace_bytes_ = std::max(workspace_bytes_, static_cast<std::int64_t>(prepared.workspace_bytes));
  step.flops = assay::flops(program, node, options_.extent);
  step.bytes = assay::bytes(program, node, options_.extent);
  const DType stored =
      node.inputs.empty() || node.inputs[0] == no_value ? DType::f32 : program.value(node.inputs[0]).dtype;
  step.ledger = {node.path,
                 node.operation->name,
                 name(node.role),
                 instance_.precision().name(),
                 prepared.description,
                 prepared.operand,
                 prepared.accumulator,
                 stored,
                 prepared.verdict,
                 prepared.evidence,
                 instance_.backend().device};
  step.kernel = std::move(prepared.kernel);
}

void Plan::bind() {
  const std::int64_t values_bytes = arena_bytes_;
  arena_bytes_ += workspace_bytes_;
  if (const std::int64_t available = instance_.facts().available_bytes; available > 0 && arena_bytes_ > available) {
    fail_lacking("memory: the plan needs {} of buffers, {} are available",
                 format_bytes(static_cast<double>(arena_bytes_)), format_bytes(static_cast<double>(available)));
  }
  arena_ = allocate_aligned(static_cast<std::size_t>(arena_bytes_));
  const Program& program = instance_.program();
  for (Step& step : steps_) {
    const Node& node = program.nodes[step.node];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == no_value || program.value(id).constant) continue;
      if (program.value(id).name == "attention_mask" && !options_.masked) continue;
      step.inputs[i] = address(id);
    }
    for (const ValueId id : node.outputs) step.outputs.push_back(id == no_value ? nullptr : address(id));
    step.workspace = arena_.get() + values_bytes;
  }
}

std::byte* Plan::address(ValueId id) {
  const std::int64_t offset = placement(id).offset;
  return offset < 0 ? nullptr : arena_.get() + offset;
}

void Plan::set_inputs(std::span<const std::int32_t> ids, std::span<const std::uint8_t> mask) {
  const Program& program = instance_.program();
  const auto count = static_cast<std::size_t>(options_.extent.batch * options_.extent.seq);
  ASSAY_ASSERT(ids.size() == count && mask.size() == (options_.masked ? count : 0));
  for (const NamedValue& in : program.inputs) {
    std::byte* to = address(in.value);
    if (in.name == "input_ids") std::memcpy(to, ids.data(), ids.size_bytes());
    if (in.name == "attention_mask" && options_.masked) std::memcpy(to, mask.data(), mask.size_bytes());
  }
}

void Plan::run() {
  for (const Step& step : steps_) step.kernel->run({step.inputs, step.outputs, step.workspace});
}

OutputView Plan::output(const std::string& name) const {
  const Program& program = instance_.program();
  const ValueId id = program.output(name);
  ASSAY_ASSERT(id != no_value && placement(id).offset >= 0);
  const Value& value = program.value(id);
  return {{value.dtype, concrete(value.shape, options_.extent), arena_.get() + placement(id).offset},
          placement(id).row_stride};
}

Tensor Plan::output_f32(const std::string& name) const {
  const OutputView from = output(name);
  Tensor result(DType::f32, from.tensor.shape);
  const auto width = static_cast<std::size_t>(from.tensor.shape.back());
  const std::size_t row_bytes = static_cast<std::size_t>(from.row_stride) * size_of(from.tensor.dtype);
  const auto rows_count = width == 0 ? 0 : static_cast<std::size_t>(result.count()) / width;
  for (std::size_t row = 0; row < rows_count; ++row) {
    convert(from.tensor.dtype, from.tensor.data + row * row_bytes, DType::f32, result.as<float>() + row * width, width);
  }
  return result;
}

std::int64_t Plan::peak_bytes() const {
  return instance_.resident_bytes() + arena_bytes_;
}

double Plan::flops() const {
  double total = 0;
  for (const Step& step : steps_) total += step.flops;
  return total;
}

double Plan::bytes() const {
  double total = 0;
  for (const Step& step : steps_) total += step.bytes;
  return total;
}

Ledger Plan::ledger() const {
  Ledger ledger;
  for (const NamedValue& in : instance_.program().inputs) {
    if (in.name == "attention_mask" && !options_.masked) continue;
    ledger.inputs.push_back({in.name, instance_.program().value(in.value).dtype, instance_.backend().device});
  }
  for (const Step& step : steps_) ledger.rows.push_back(step.ledger);
  return ledger;
}

}  // namespace assay
