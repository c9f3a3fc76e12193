#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/team.h"
#include "kernels/contract_buffer.h"
#include "program/update_list.h"

namespace assay::contract {

struct KernelRun {
  std::vector<GuardedBuffer> outputs;
  Prepared prepared;
};

namespace {

/// The input as the kernel asked for it.
std::vector<std::byte> packed_input(const Argument& argument, const Packing& packing, const std::byte* plain) {
  const std::int64_t out = argument.shape[0];
  const std::int64_t in = argument.shape[1];
  std::vector<std::byte> packed(packed_bytes(packing, out, in) + 64);
  pack({argument.dtype, argument.shape, plain}, packing, packed.data());
  return packed;
}

/// Inputs and outputs where a device's kernel finds them, guards and all; on the host, the buffers themselves.
class OnDevice {
 public:
  explicit OnDevice(const Device& device) : device_(device) {}

  std::byte* place(GuardedBuffer& buffer) {
    if (device_.is_host()) return buffer.data();
    copies_.push_back(upload_to(device_, buffer.memory.data(), buffer.memory.bytes()));
    return copies_.back().get() + (buffer.data() - buffer.memory.data());
  }
  /// What lies behind `address`, which place(buffer) gave, comes back into the buffer.
  void fetch(GuardedBuffer& buffer, const std::byte* address) const {
    if (device_.is_host()) return;
    device_.download(buffer.memory.data(), address - (buffer.data() - buffer.memory.data()), buffer.memory.bytes());
  }

 private:
  const Device& device_;
  std::vector<DeviceBytes> copies_;
};

/// As plans run kernels: by a team, which here has a thread that the kernel must do without.
void run_in_team(const Kernel& kernel, const Memory& memory, int threads) {
  Team::gather(threads > 1 ? threads + 1 : 1, [&] { kernel.run(memory); });
}

/// An output that lies where an input does.
struct Overlap {
  std::size_t input, output;
};

bool alike(const Argument& a, const Argument& b) {
  return a.present && b.present && a.dtype == b.dtype && a.shape == b.shape && a.row_stride == b.row_stride;
}

/// What plans let overlap: where the operation names an input, and what an optimizer updates.
std::vector<Overlap> overlaps_of(const Call& call) {
  std::vector<Overlap> overlaps;
  if (const int first = call.operation->updates; first >= 0) {
    for (std::size_t i = 0; i < call.outputs.size(); ++i) overlaps.push_back({static_cast<std::size_t>(first) + i, i});
  }
  if (call.operation->in_place >= 0) overlaps.push_back({static_cast<std::size_t>(call.operation->in_place), 0});
  if (updates_list(*call.operation)) {
    const UpdateList list = update_list(*call.operation, call.inputs.size());
    for (std::size_t i = 0; i < list.lost(); ++i) {
      overlaps.push_back({list.input(i / list.outputs_each, UpdateList::input_of(i % list.outputs_each)), i});
    }
  }
  std::erase_if(overlaps, [&](const Overlap& o) { return !alike(call.in(o.input), call.out(o.output)); });
  return overlaps;
}

/// What always overlaps.
std::vector<Overlap> updates_of(const Call& call) {
  return call.operation->updates >= 0 ? overlaps_of(call) : std::vector<Overlap>{};
}

void execute(const Case& one, std::vector<GuardedBuffer>& inputs, KernelRun& run, const Device& device,
             const std::vector<Overlap>& overlaps) {
  OnDevice on(device);
  const Call& call = one.call;
  std::vector<AlignedBytes> packed(inputs.size());
  std::vector<const std::byte*> in;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Packing packing = i < run.prepared.packing.size() ? run.prepared.packing[i] : Packing{};
    const std::byte* plain = call.in(i).present ? on.place(inputs[i]) : nullptr;
    if (packing.kind == Packing::Kind::panels && call.in(i).packing.kind == Packing::Kind::plain) {
      const std::vector<std::byte> bytes = packed_input(call.in(i), packing, plain);
      packed[i] = allocate_aligned(bytes.size());
      std::memcpy(packed[i].get(), bytes.data(), bytes.size());
      plain = packed[i].get();
    }
    in.push_back(plain);
  }
  std::vector<std::byte*> out;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    run.outputs.push_back(make_buffer(call.out(i)));
    const auto overlap =
        std::find_if(overlaps.begin(), overlaps.end(), [i](const Overlap& o) { return o.output == i; });
    if (overlap != overlaps.end()) copy_rows(call.out(i), inputs[overlap->input], run.outputs.back());
    out.push_back(call.out(i).present ? on.place(run.outputs.back()) : nullptr);
    if (overlap != overlaps.end()) in[overlap->input] = out.back();
  }
  const DeviceBytes workspace = allocate_on(device, run.prepared.workspace_bytes);
  // Not a number in any float dtype: no kernel may rely on what lies in its scratch.
  if (device.is_host()) std::memset(workspace.get(), 0xff, run.prepared.workspace_bytes);
  const bool shares_team = device.is_host() && !run.prepared.brings_threads;
  run_in_team(*run.prepared.kernel, {in, out, workspace.get()}, shares_team ? call.threads : 1);
  device.wait();
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] != nullptr) on.fetch(run.outputs[i], out[i]);
  }
}

double unit_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::tf32:
    case DType::e4m3:  // As operands of a GPU; as outputs they are equal.
      return 0x1p-9;
    case DType::bf16:
      return 0x1p-6;
    default:
      return 0x1p-16;
  }
}

double tolerance(const Call& call, const KernelRun& run, DType output) {
  const double unit = std::max({unit_of(output), unit_of(run.prepared.operand), unit_of(run.prepared.accumulator)});
  const DType math = call.attributes.math;
  return size_of(math) < 4 ? std::max(unit, 4 * unit_of(math)) : unit;
}

std::vector<double> widened(GuardedBuffer& buffer, DType dtype) {
  std::vector<double> values(static_cast<std::size_t>(buffer.elements));
  convert(dtype, buffer.data(), DType::f64, values.data(), values.size());
  return values;
}

/// The largest magnitude of each row; of the whole tensor where a kernel's errors are as large as that, or rows are too
/// narrow for theirs to stand for the size of what was added up: a row of one sum may be next to nothing by
/// cancellation.
std::vector<double> largest_of(const Argument& argument, const std::vector<double>& values, ErrorsOf errors_of) {
  constexpr std::int64_t narrowest = 8;
  std::vector<double> largest(static_cast<std::size_t>(argument.rows()), 0.0);
  for (std::int64_t row = 0; row < argument.rows(); ++row) {
    for (std::int64_t i = 0; i < argument.width(); ++i) {
      double& most = largest[static_cast<std::size_t>(row)];
      most = std::max(most, std::abs(values[static_cast<std::size_t>(row * argument.row_stride + i)]));
    }
  }
  if ((errors_of == ErrorsOf::row && argument.width() >= narrowest) || largest.empty()) return largest;
  return std::vector<double>(largest.size(), *std::max_element(largest.begin(), largest.end()));
}

double bound_of(DType dtype, double of_floats) {
  if (dtype == DType::e4m3) return 0;
  return is_float(dtype) ? of_floats : 1;
}

std::string compare(const Argument& argument, GuardedBuffer& expected, GuardedBuffer& found, double allowed,
                    ErrorsOf errors_of) {
  const std::vector<double> right = widened(expected, argument.dtype);
  const std::vector<double> result = widened(found, argument.dtype);
  const std::vector<double> largest = largest_of(argument, right, errors_of);
  for (std::int64_t row = 0; row < argument.rows(); ++row) {
    const double bound = bound_of(argument.dtype, allowed * largest[static_cast<std::size_t>(row)]);
    for (std::int64_t i = 0; i < argument.width(); ++i) {
      const auto at = static_cast<std::size_t>(row * argument.row_stride + i);
      if (std::abs(right[at] - result[at]) <= bound && std::isfinite(result[at])) continue;
      return fmt::format("row {} column {}: {} instead of {}, more than {:.3g} apart", row, i, result[at], right[at],
                         bound);
    }
  }
  return "";
}

const Implementation& reference_of(const Operation& operation) {
  for (const OperationKernels& kernels : reference_backend().table) {
    if (kernels.operation == &operation) return kernels.implementations.back();
  }
  fail_user("{}: the reference lacks it", operation.name);
}

std::string compare_outputs(const Case& one, KernelRun& expected, KernelRun& found) {
  for (std::size_t i = 0; i < one.call.outputs.size(); ++i) {
    const Argument& argument = one.call.out(i);
    if (!argument.present) continue;
    std::string wrong = compare(argument, expected.outputs[i], found.outputs[i],
                                tolerance(one.call, found, argument.dtype), found.prepared.errors_of);
    if (wrong.empty()) wrong = check_gaps(argument, found.outputs[i]);
    if (!wrong.empty()) return fmt::format("output {}: {}", i, wrong);
  }
  return "";
}

/// On a GPU, where the order of sums may change from run to run: once more, for the same bits.
std::string run_again(const Case& one, std::vector<GuardedBuffer>& inputs, KernelRun& found, const Device& device) {
  if (device.is_host()) return "";
  const std::vector<GuardedBuffer> first = std::exchange(found.outputs, {});
  execute(one, inputs, found, device, updates_of(one.call));
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (std::memcmp(first[i].memory.data(), found.outputs[i].memory.data(), first[i].memory.bytes()) != 0)
      return fmt::format("output {}: other bits in a second run", i);
  }
  return "";
}

/// Where outputs may lie on inputs: once more so.
std::string run_in_place(const Case& one, std::vector<GuardedBuffer>& inputs, KernelRun& expected, KernelRun& found,
                         const Device& device) {
  const std::vector<Overlap> overlaps = overlaps_of(one.call);
  if (overlaps.empty() || one.call.operation->updates >= 0) return "";
  found.outputs.clear();
  execute(one, inputs, found, device, overlaps);
  const std::string wrong = compare_outputs(one, expected, found);
  return wrong.empty() ? "" : "in place: " + wrong;
}

}  // namespace

struct CaseRun::State {
  const Case& one;
  std::vector<GuardedBuffer> inputs;
  std::optional<KernelRun> expected;
};

CaseRun::CaseRun(const Case& one) : state_(new State{one, {}, {}}) {}
CaseRun::~CaseRun() = default;

void CaseRun::make_inputs() {
  for (std::size_t i = state_->inputs.size(); i < state_->one.call.inputs.size(); ++i)
    state_->inputs.push_back(make_input(state_->one, i));
}

std::vector<std::vector<std::byte>> CaseRun::outputs(Prepared prepared, const Device& device) {
  make_inputs();
  KernelRun run = {.outputs = {}, .prepared = std::move(prepared)};
  std::vector<std::vector<std::byte>> bytes;
  for (const std::vector<Overlap>& overlaps : {updates_of(state_->one.call), overlaps_of(state_->one.call)}) {
    run.outputs.clear();
    execute(state_->one, state_->inputs, run, device, overlaps);
    for (const GuardedBuffer& output : run.outputs)
      bytes.emplace_back(output.memory.data(), output.memory.data() + output.memory.bytes());
  }
  return bytes;
}

Outcome CaseRun::compare(const Implementation& implementation, const MachineFacts& facts, const Device& device) {
  const Case& one = state_->one;
  Offer offer = implementation.prepare(one.call, facts);
  if (auto* declined = std::get_if<Declined>(&offer))
    return {.ran = false, .broken = declined->why.empty() ? "declined without a reason" : ""};
  if (!state_->expected) {
    make_inputs();
    Offer right = reference_of(*one.call.operation).prepare(one.call, facts);
    state_->expected = KernelRun{.outputs = {}, .prepared = std::move(std::get<Prepared>(right))};
    execute(one, state_->inputs, *state_->expected, host_device(), updates_of(one.call));
  }
  KernelRun found = {.outputs = {}, .prepared = std::move(std::get<Prepared>(offer))};
  execute(one, state_->inputs, found, device, updates_of(one.call));
  std::string wrong = compare_outputs(one, *state_->expected, found);
  if (wrong.empty()) wrong = run_again(one, state_->inputs, found, device);
  if (wrong.empty()) wrong = run_in_place(one, state_->inputs, *state_->expected, found, device);
  return {.ran = true, .broken = wrong};
}

}  // namespace assay::contract
