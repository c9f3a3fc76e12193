#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "kernels/contract.h"

namespace assay::contract {

constexpr std::int64_t guard_elements = 64;  ///< Before and behind every buffer.

/// An argument's memory with guards around it; gaps between rows and guards hold guard_byte (as floats: tiny numbers in
/// f32 and bf16, so inputs overwrite them with NaN).
struct GuardedBuffer {
  Tensor memory;
  std::int64_t lead = 0;
  std::int64_t elements = 0;
  std::size_t element_bytes = 1;

  std::byte* data() { return memory.data() + static_cast<std::size_t>(lead) * element_bytes; }
  std::int64_t total() const { return lead + elements + guard_elements; }
};

struct KernelRun {
  std::vector<GuardedBuffer> outputs;
  Prepared prepared;
};

namespace {

constexpr auto guard_byte = std::byte{0xA5};

std::int64_t span_of(const Argument& argument) {
  const std::int64_t rows = argument.rows();
  return rows == 0 ? 0 : (rows - 1) * argument.row_stride + argument.width();
}

/// Elements before the first row. A window begins somewhere in its rows, at whatever address.
std::int64_t lead_of(const Argument& argument) {
  return guard_elements + (argument.row_stride - argument.width()) % 4;
}

GuardedBuffer make_buffer(const Argument& argument) {
  GuardedBuffer buffer;
  buffer.lead = lead_of(argument);
  buffer.elements = span_of(argument);
  buffer.element_bytes = size_of(argument.dtype);
  buffer.memory = Tensor(argument.dtype, {buffer.total()});
  std::fill_n(buffer.memory.data(), buffer.memory.bytes(), guard_byte);
  return buffer;
}

double mask_value(Fill fill, const Argument& argument, std::int64_t row, std::int64_t column, Random& random) {
  const std::int64_t width = argument.width();
  const std::int64_t real = 1 + (row * 5 + width / 2) % width;
  if (fill == Fill::right_padded) return column < real ? 1 : 0;
  if (fill == Fill::left_padded) return column >= width - real ? 1 : 0;
  const double coin = random.next_uniform() < 0.6 ? 1 : 0;
  return row + 1 == argument.rows() ? 0 : coin;
}

double value_of(const Case& one, std::size_t index, std::int64_t row, std::int64_t column, Random& random) {
  const Argument& argument = one.call.in(index);
  switch (one.fills[index]) {
    case Fill::normal:
      return random.next_normal();
    case Fill::weights:
      return random.next_normal() / std::sqrt(static_cast<double>(argument.width()));
    case Fill::around_one:
      return 1 + 0.1 * random.next_normal();
    case Fill::small:
      return 0.005 + 0.01 * random.next_uniform();
    case Fill::whole:
      return static_cast<double>(random.below(255)) - 127;
    case Fill::magnitudes: {
      const double size = std::ldexp(1 + random.next_uniform(), static_cast<int>(random.below(19)) - 10);
      return std::min(size, 448.0) * (random.below(2) == 0 ? 1 : -1);
    }
    case Fill::ids:
      return static_cast<double>(random.below(static_cast<std::uint64_t>(one.call.in(1).shape[0])));
    case Fill::few_ids:
      return static_cast<double>(random.below(20));
    case Fill::labels:
      return (row * argument.width() + column) % 3 == 2
                 ? -100
                 : static_cast<double>(random.below(static_cast<std::uint64_t>(one.call.in(0).width())));
    case Fill::with_zeros:
      return row % 3 == 2 ? 0 : random.next_normal();
    default:
      return mask_value(one.fills[index], argument, row, column, random);
  }
}

/// Random values in the rows, NaN (floats) in the gaps and guards: whoever reads those shows it in the result.
GuardedBuffer make_input(const Case& one, std::size_t index) {
  const Argument& argument = one.call.in(index);
  GuardedBuffer buffer = make_buffer(argument);
  Random random(0x5eed, index);
  const std::int64_t total = buffer.total();
  const double gap = is_float(argument.dtype) ? std::numeric_limits<double>::quiet_NaN() : 1;
  std::vector<double> values(static_cast<std::size_t>(total), gap);
  for (std::int64_t row = 0; row < argument.rows(); ++row) {
    for (std::int64_t column = 0; column < argument.width(); ++column)
      values[static_cast<std::size_t>(buffer.lead + row * argument.row_stride + column)] =
          value_of(one, index, row, column, random);
  }
  convert(DType::f64, values.data(), argument.dtype, buffer.memory.data(), values.size());
  return buffer;
}

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

void execute(const Case& one, std::vector<GuardedBuffer>& inputs, KernelRun& run, const Device& device) {
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
    out.push_back(call.out(i).present ? on.place(run.outputs.back()) : nullptr);
  }
  const DeviceBytes workspace = allocate_on(device, run.prepared.workspace_bytes);
  run.prepared.kernel->run({in, out, workspace.get()});
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

double tolerance(const KernelRun& run, DType output) {
  return std::max({unit_of(output), unit_of(run.prepared.operand), unit_of(run.prepared.accumulator)});
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

/// Says where something was written outside the rows.
std::string check_gaps(const Argument& argument, GuardedBuffer& buffer) {
  const auto bytes = static_cast<std::int64_t>(buffer.element_bytes);
  for (std::int64_t element = 0; element < buffer.total(); ++element) {
    const std::int64_t inside = element - buffer.lead;
    const bool in_row = inside >= 0 && inside < buffer.elements && inside % argument.row_stride < argument.width();
    if (in_row) continue;
    const std::byte* first = buffer.memory.data() + element * bytes;
    if (std::any_of(first, first + bytes, [](std::byte b) { return b != guard_byte; }))
      return fmt::format("element {} outside the rows was written", inside);
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
    std::string wrong = compare(argument, expected.outputs[i], found.outputs[i], tolerance(found, argument.dtype),
                                found.prepared.errors_of);
    if (wrong.empty()) wrong = check_gaps(argument, found.outputs[i]);
    if (!wrong.empty()) return fmt::format("output {}: {}", i, wrong);
  }
  return "";
}

/// On a GPU, where the order of sums may change from run to run: once more, for the same bits.
std::string run_again(const Case& one, std::vector<GuardedBuffer>& inputs, KernelRun& found, const Device& device) {
  if (device.is_host()) return "";
  const std::vector<GuardedBuffer> first = std::exchange(found.outputs, {});
  execute(one, inputs, found, device);
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (std::memcmp(first[i].memory.data(), found.outputs[i].memory.data(), first[i].memory.bytes()) != 0)
      return fmt::format("output {}: other bits in a second run", i);
  }
  return "";
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
  execute(state_->one, state_->inputs, run, device);
  std::vector<std::vector<std::byte>> bytes;
  for (const GuardedBuffer& output : run.outputs)
    bytes.emplace_back(output.memory.data(), output.memory.data() + output.memory.bytes());
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
    execute(one, state_->inputs, *state_->expected, host_device());
  }
  KernelRun found = {.outputs = {}, .prepared = std::move(std::get<Prepared>(offer))};
  execute(one, state_->inputs, found, device);
  const std::string wrong = compare_outputs(one, *state_->expected, found);
  return {.ran = true, .broken = wrong.empty() ? run_again(one, state_->inputs, found, device) : wrong};
}

}  // namespace assay::contract
