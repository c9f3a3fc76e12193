#include "runtime/plan.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/streams.h"
#include "base/team.h"
#include "base/units.h"
#include "model/architecture.h"
#include "runtime/call.h"
#include "runtime/ledger_rows.h"

namespace assay {
Plan::Plan(Instance& instance, PlanOptions options) : instance_(instance), options_(std::move(options)) {
  if (options_.extent.batch < 1 || options_.extent.seq < 1)
    fail_user("batch and sequence length: at least 1 is needed");
  layout_ = lay_out(instance_.program(), options_);
  for (const std::size_t node : layout_.nodes) {
    steps_.emplace_back();
    steps_.back().node = node;
  }
  arena_bytes_ = layout_.bytes;
  refuse_what_does_not_fit();
  prepare_steps();
  bind();
}

/// What may still be taken; absent where nobody knows.
std::optional<std::int64_t> Plan::free_bytes() const {
  if (options_.free_bytes) return options_.free_bytes;
  if (instance_.facts().available_bytes <= 0) return std::nullopt;
  return instance_.facts().available_bytes - instance_.resident_bytes() -
         (options_.state == nullptr ? 0 : options_.state->bytes());
}

/// Before a weight is read or a buffer allocated.
void Plan::refuse_what_does_not_fit() const {
  const std::int64_t state_bytes =
      options_.state == nullptr ? 0 : missing_state_bytes(instance_.program(), *options_.state, options_.extent);
  const std::int64_t needed = instance_.missing_bytes(options_.extent) + own_bytes() + state_bytes;
  const std::optional<std::int64_t> available = free_bytes();
  if (!available || needed <= *available) return;
  throw OutOfMemory(
      fmt::format("memory: {} more are needed for weights and buffers, {} are available",
                  format_bytes(static_cast<double>(needed)), format_bytes(static_cast<double>(*available))),
      static_cast<double>(needed), static_cast<double>(*available));
}

void Plan::prepare_steps() {
  for (const std::size_t step : preparation_order(instance_.program(), layout_, options_.extent)) prepare_step(step);
}

/// What the kernel of a node is told.
Call Plan::call_for(const Node& node) const {
  return assay::call_for({instance_.program(), layout_, options_, instance_.facts().threads,
                          [this](ValueId id) { return instance_.held_packing(id); }},
                         node);
}

bool Plan::is_absent_mask(ValueId id) const {
  return assay::is_absent_mask(instance_.program(), options_, id);
}

void Plan::prepare_step(std::size_t index) {
  Step& step = steps_[index];
  const Node& node = instance_.program().nodes[step.node];
  const Call call = call_for(node);
  Offer offer = prepare(instance_.backend(), call, instance_.facts());
  if (const auto* declined = std::get_if<Declined>(&offer)) {
    fail_lacking("{} ({}): {}", node.path, node.operation->name, declined->why);
  }
  Prepared& prepared = std::get<Prepared>(offer);
  step.inputs = hold_constants(node, call, prepared);
  step.flops = assay::flops(instance_.program(), node, options_.extent);
  step.bytes = assay::bytes(instance_.program(), node, options_.extent);
  step.ledger = ledger_row(
      node, call, prepared,
      {instance_.precision().rest_name(), instance_.backend().device, instance_.program(), instance_.weights()});
  step.ledger.flops = step.flops;
  step.kernel = std::move(prepared.kernel);
  brings_threads_ = brings_threads_ || prepared.brings_threads;
  workspace_bytes_ = std::max(workspace_bytes_, static_cast<std::int64_t>(prepared.workspace_bytes));
}

/// Addresses of the node's constants in the packing that its kernel wants; null for what is computed.
std::vector<const std::byte*> Plan::hold_constants(const Node& node, const Call& call, const Prepared& prepared) {
  std::vector<const std::byte*> addresses;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    Packing packing;
    packing.dtype = call.inputs[i].dtype;
    if (i < prepared.packing.size() && prepared.packing[i].kind != Packing::Kind::plain) packing = prepared.packing[i];
    addresses.push_back(call.inputs[i].constant ? instance_.hold(node.inputs[i], packing).data : nullptr);
  }
  instance_.release_intermediates();
  return addresses;
}

void Plan::refuse_large_arena() const {
  const std::int64_t available = options_.free_bytes.value_or(instance_.facts().available_bytes);
  if ((!options_.free_bytes && available <= 0) || arena_bytes_ <= available) return;
  throw OutOfMemory(
      fmt::format("memory: the plan needs {} of buffers, {} are available",
                  format_bytes(static_cast<double>(arena_bytes_)), format_bytes(static_cast<double>(available))),
      static_cast<double>(arena_bytes_), static_cast<double>(available));
}

void Plan::bind() {
  const std::int64_t values_bytes = arena_bytes_;
  arena_bytes_ += workspace_bytes_;
  if (borrows()) {
    memory_ = options_.arena_of->memory_;
  } else {
    refuse_large_arena();
    arena_ = allocate_on(device(), static_cast<std::size_t>(arena_bytes_));
    memory_ = arena_.get();
  }
  const Program& program = instance_.program();
  for (Step& step : steps_) {
    const Node& node = program.nodes[step.node];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == no_value || program.value(id).constant || is_absent_mask(id)) continue;
      step.inputs[i] = address(id);
    }
    for (const ValueId id : node.outputs) step.outputs.push_back(id == no_value ? nullptr : address(id));
    step.workspace = memory_ + values_bytes;
  }
}

std::byte* Plan::address(ValueId id) const {
  const Placement& where = placement(id);
  if (where.offset < 0) return nullptr;
  if (where.state == no_value) return memory_ + where.offset;
  const Value& value = instance_.program().value(where.state);
  ASSAY_ASSERT(options_.state != nullptr);
  return options_.state->memory(value.name, value.dtype, concrete(value.shape, options_.extent)) + where.offset;
}

void Plan::set_inputs(std::span<const std::int32_t> ids, std::span<const std::uint8_t> mask,
                      std::span<const std::int32_t> token_types) {
  const Program& program = instance_.program();
  const auto count = static_cast<std::size_t>(options_.extent.batch * options_.extent.seq);
  ASSAY_ASSERT(ids.size() == count && mask.size() == (options_.mask == AttentionMask::given ? count : 0));
  for (const NamedValue& in : program.inputs) {
    std::byte* to = address(in.value);
    if (in.name == "input_ids") device().upload(to, std::as_bytes(ids).data(), ids.size_bytes());
    if (in.name == "attention_mask" && options_.mask == AttentionMask::given)
      device().upload(to, std::as_bytes(mask).data(), mask.size_bytes());
    if (in.name == token_type_ids_name) {
      const std::vector<std::int32_t> zeros(token_types.empty() ? count : 0);
      const std::span<const std::int32_t> types = token_types.empty() ? zeros : token_types;
      ASSAY_ASSERT(types.size() == count);
      device().upload(to, std::as_bytes(types).data(), types.size_bytes());
    }
  }
}

void Plan::set_input(const std::string& name, std::span<const std::byte> bytes) {
  const Program& program = instance_.program();
  for (const NamedValue& in : program.inputs) {
    if (in.name != name) continue;
    ASSAY_ASSERT(static_cast<std::int64_t>(bytes.size()) == placement(in.value).bytes);
    device().upload(address(in.value), bytes.data(), bytes.size());
  }
}

bool Plan::run(Phase phase, InterruptFlag interrupted, const NodeHook& after) {
  const bool is_whole = enqueue_until(phase, interrupted, after);
  device().wait();
  return is_whole;
}

void Plan::run() {
  Team::gather(team_threads(), [this] { enqueue(); });
  device().wait();
}

/// Libraries load their code in the first run, which a recording does not allow.
bool Plan::enqueue_until(std::optional<Phase> phase, InterruptFlag interrupted, const NodeHook& after) {
  if (device().is_host()) return enqueue_steps(phase, interrupted, after);
  if (options_.graphs == Graphs::off || !has_steps(phase)) return enqueue_steps(phase, interrupted, {});
  Segment& segment = segments_[phase ? 1 + static_cast<std::size_t>(*phase) : 0];
  if (++segment.runs == 2) record(segment, phase);
  if (!segment.recording) return enqueue_steps(phase, interrupted, {});
  segment.recording->enqueue();
  return true;
}

namespace {

/// To whoever watches, each reason once: plans are many.
void tell_not_recorded(const std::string& why) {
  static std::mutex guard;
  static std::set<std::string> told;
  const std::lock_guard lock(guard);
  if (told.insert(why).second) tell(fmt::format("assay: kernels are queued one by one, not as a graph: {}\n", why));
}

}  // namespace

/// What cannot be recorded can still be run: if the device is broken altogether, its next step says so.
void Plan::record(Segment& segment, std::optional<Phase> phase) const {
  try {
    segment.recording = device().record([&] { enqueue_steps(phase, nullptr, {}); });
    if (!segment.recording) segment.refusal = "the device has no memory for it";
  } catch (const Error& error) {
    segment.refusal = error.what();
  }
  if (!segment.recording) tell_not_recorded(segment.refusal);
}

bool Plan::has_steps(std::optional<Phase> phase) const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [&](const Step& step) { return !phase || instance_.program().nodes[step.node].phase == *phase; });
}

bool Plan::is_recorded() const {
  return std::all_of(segments_.begin(), segments_.end(),
                     [](const Segment& segment) { return segment.runs < 2 || segment.recording != nullptr; });
}

std::string Plan::why_not_recorded() const {
  const auto refused =
      std::find_if(segments_.begin(), segments_.end(), [](const Segment& segment) { return !segment.refusal.empty(); });
  return refused == segments_.end() ? "" : refused->refusal;
}

namespace {

/// The name of a step for tools that watch the device; ends with its scope, however that is left.
class Range {
 public:
  Range(const Device* device, const std::string& name) : device_(device) {
    if (device_ != nullptr) device_->begin_range(name.c_str());
  }
  ~Range() {
    if (device_ != nullptr) device_->end_range();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  const Device* device_;
};

}  // namespace

bool Plan::enqueue_steps(std::optional<Phase> phase, InterruptFlag interrupted, const NodeHook& after) const {
  const Device* const watched = device().is_host() ? nullptr : &device();
  for (const Step& step : steps_) {
    const Node& node = instance_.program().nodes[step.node];
    if (phase && node.phase != *phase) continue;
    if (is_set(interrupted)) return false;
    {
      const Range range(watched, node.path);
      step.kernel->run({step.inputs, step.outputs, step.workspace});
    }
    if (after) after(step.node);
  }
  return true;
}

OutputView Plan::output(const std::string& name) const {
  const Program& program = instance_.program();
  const ValueId id = program.output(name);
  ASSAY_ASSERT(id != no_value && placement(id).offset >= 0);
  const Value& value = program.value(id);
  return {{value.dtype, concrete(value.shape, options_.extent), fetch(id, address(id))}, placement(id).row_stride};
}

float Plan::first_value(const std::string& name) const {
  const ValueId id = instance_.program().output(name);
  ASSAY_ASSERT(id != no_value && placement(id).offset >= 0);
  const DType dtype = instance_.program().value(id).dtype;
  double element = 0;  // as wide as any
  device().download(reinterpret_cast<std::byte*>(&element), address(id), size_of(dtype));
  float value = 0;
  convert(dtype, &element, DType::f32, &value, 1);
  return value;
}

/// What lies at `from`, where the host can read it.
const std::byte* Plan::fetch(ValueId id, const std::byte* from) const {
  if (device().is_host()) return from;
  const Value& value = instance_.program().value(id);
  Tensor& copy = fetched_[id];
  if (copy.data() == nullptr) {
    Shape shape = concrete(value.shape, options_.extent);
    shape.back() = placement(id).row_stride;
    copy = Tensor(value.dtype, shape);
  }
  const std::size_t behind = (static_cast<std::size_t>(placement(id).row_stride) -
                              static_cast<std::size_t>(value.shape.back().at(options_.extent))) *
                             size_of(value.dtype);  // The last row of a window may be the arena's end.
  device().download(copy.data(), from, copy.bytes() - behind);
  return copy.data();
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

void Plan::read_rows(ValueId id, RowSpan rows, float* to) const {
  const Value& value = instance_.program().value(id);
  const std::int64_t width = value.shape.back().at(options_.extent);
  const std::int64_t stride = placement(id).row_stride;
  if (rows.count == 0 || width == 0) return;
  const std::size_t row_bytes = static_cast<std::size_t>(stride) * size_of(value.dtype);
  const std::byte* from = address(id) + static_cast<std::size_t>(rows.first) * row_bytes;
  std::vector<std::byte> copy;
  if (!device().is_host()) {
    // The last row of a window may be the arena's end.
    copy.resize(static_cast<std::size_t>(rows.count - 1) * row_bytes +
                static_cast<std::size_t>(width) * size_of(value.dtype));
    device().download(copy.data(), from, copy.size());
    from = copy.data();
  }
  for (std::int64_t row = 0; row < rows.count; ++row) {
    convert(value.dtype, from + static_cast<std::size_t>(row) * row_bytes, DType::f32, to + row * width,
            static_cast<std::size_t>(width));
  }
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
  ledger.inputs = ledger_inputs(instance_.program(), options_, instance_.backend().device);
  for (const Step& step : steps_) ledger.rows.push_back(step.ledger);
  return ledger;
}

}  // namespace assay
