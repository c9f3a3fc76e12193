#include "studies/shared/device_facts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "kernels/verdict.h"
#include "studies/shared/engine.h"

namespace assay {
namespace {

/// Uniform values, for 8 bits spread over a part of their range; a block of them repeated, since only their bits'
/// variety matters.
Tensor some_values(DType dtype, const Shape& shape) {
  constexpr std::int64_t block = 4096;
  Random random(1);
  Tensor values(DType::f32, shape);
  const float scale = size_of(dtype) > 1 ? 0.2F : 200.0F;
  for (std::int64_t i = 0; i < std::min(block, values.count()); ++i)
    values.as<float>()[i] = scale * (static_cast<float>(random.next_uniform()) - 0.5F);
  for (std::int64_t i = block; i < values.count(); ++i) values.as<float>()[i] = values.as<float>()[i - block];
  return converted(values.view(), dtype);
}

/// A call whose tensors lie on a device.
class DeviceCall {
 public:
  DeviceCall(const Device& device, const Operation& operation) : device_(device) { call_.operation = &operation; }

  void add_input(DType dtype, const Shape& shape) {
    const Tensor values = some_values(dtype, shape);
    call_.inputs.push_back(dense(dtype, shape));
    memory_.push_back(upload_to(device_, values.data(), values.bytes()));
    inputs_.push_back(memory_.back().get());
  }
  void add_output(DType dtype, const Shape& shape) {
    call_.outputs.push_back(dense(dtype, shape));
    memory_.push_back(allocate_on(device_, static_cast<std::size_t>(element_count(shape)) * size_of(dtype)));
    outputs_.push_back(memory_.back().get());
  }
  Call& call() { return call_; }

  /// Runs a second: twice as many at a time until a batch of them takes long enough.
  double rate(const Prepared& prepared, double seconds) {
    const DeviceBytes workspace = allocate_on(device_, prepared.workspace_bytes);
    const Memory memory{inputs_, outputs_, workspace.get()};
    prepared.kernel->run(memory);
    device_.wait();
    for (int runs = 1;; runs *= 2) {
      const double begin_s = now_s();
      for (int i = 0; i < runs; ++i) prepared.kernel->run(memory);
      device_.wait();
      const double took_s = now_s() - begin_s;
      if (took_s >= seconds) return runs / took_s;
    }
  }

 private:
  static Argument dense(DType dtype, const Shape& shape) {
    return {.present = true, .dtype = dtype, .shape = shape, .row_stride = shape.back(), .packing = {}};
  }
  const Device& device_;
  Call call_;
  std::vector<DeviceBytes> memory_;
  std::vector<const std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
};

DeviceCall product(const Device& device, DType operand, std::int64_t side) {
  const bool quantized = size_of(operand) == 1;
  DeviceCall trial(device, quantized ? op::quantized_linear : op::linear);
  trial.add_input(operand, {side, side});
  if (quantized) trial.add_input(DType::f32, {side});
  trial.add_input(operand, {side, side});
  if (quantized) trial.add_input(DType::f32, {side});
  trial.call().inputs[quantized ? 2 : 1].constant = true;
  trial.add_output(!quantized && operand != DType::tf32 ? operand : DType::f32, {side, side});
  return trial;
}

std::vector<MatmulRate> device_rates(const Backend& backend, DType operand, const MachineFacts& facts,
                                     const DeviceProbe& probe) {
  std::vector<MatmulRate> rates;
  DeviceCall trial = product(backend.memory(), operand, probe.side);
  for (const OperationKernels& kernels : backend.table) {
    if (kernels.operation != trial.call().operation) continue;
    for (const Implementation& one : kernels.implementations) {
      Offer offer = one.prepare(trial.call(), facts);
      const auto* prepared = std::get_if<Prepared>(&offer);
      if (prepared == nullptr || prepared->arithmetic == Arithmetic::scalar_loops) continue;
      const double flops = 2.0 * static_cast<double>(probe.side * probe.side * probe.side);
      rates.push_back({operand,
                       prepared->operand,
                       {kernels.operation->name, one.name},
                       prepared->description,
                       prepared->arithmetic,
                       trial.rate(*prepared, probe.seconds_each) * flops * 1e-9});
    }
  }
  return in_order_of_choice(backend, facts, rates);
}

/// Bytes moved a second by z = x + y: two read, one written.
double bandwidth_gbs(const Backend& backend, const MachineFacts& facts, const DeviceProbe& probe) {
  const Shape shape = {probe.bytes / 4096, 1024};
  DeviceCall trial(backend.memory(), op::add);
  trial.add_input(DType::f32, shape);
  trial.add_input(DType::f32, shape);
  trial.add_output(DType::f32, shape);
  Offer offer = prepare(backend, trial.call(), facts);
  const auto* prepared = std::get_if<Prepared>(&offer);
  if (prepared == nullptr) return 0;
  return trial.rate(*prepared, probe.seconds_each) * 3.0 * 4.0 * static_cast<double>(element_count(shape)) * 1e-9;
}

MatmulPeak peak_of(const Backend& backend, DType operand, const MachineFacts& facts, const DeviceProbe& probe) {
  MatmulPeak peak;
  peak.operand = operand;
  if (const char* instruction = instruction_set(operand, facts)) peak.instruction = instruction;
  peak.rates = device_rates(backend, operand, facts, probe);
  if (peak.rates.empty()) return peak;
  peak.set_best();
  // No loop over registers is run on a device: of f32 alone the peak follows from lanes and clock.
  if (facts.gpu && operand == DType::f32)
    peak.instruction_gflops = std::max(peak.matmul_gflops, f32_peak_gflops(*facts.gpu));
  return peak;
}

}  // namespace

MachineFacts facts_on(const Backend& backend, MachineFacts host, const DeviceProbe& probe) {
  if (backend.describe == nullptr) return host;
  MachineFacts facts = std::move(host);
  backend.describe(facts);
  facts.bandwidth_one_core_gbs = 0;
  facts.bandwidth_gbs = bandwidth_gbs(backend, facts, probe);
  facts.bandwidth_readings_gbs.clear();
  facts.measured_share = 1;
  std::vector<MatmulPeak> peaks;
  for (const DType operand : {DType::f32, DType::tf32, DType::f16, DType::bf16, DType::s8, DType::e4m3})
    peaks.push_back(peak_of(backend, operand, facts, probe));
  facts.peaks = std::move(peaks);
  set_verdicts(facts);
  return facts;
}

MachineFacts facts_on(const std::string& device, MachineFacts host) {
  static std::map<std::string, MachineFacts> known;
  if (const auto found = known.find(device); found != known.end()) return found->second;
  try {
    const Backend& backend = find_backend(device);
    if (backend.describe == nullptr) return host;
    return known[device] = facts_on(backend, host);
  } catch (const OutOfMemory&) {  // The device is there, and others fill it.
    throw;
  } catch (const Error& error) {
    if (error.code() != ExitCode::lacking) throw;
    return host;
  }
}

}  // namespace assay
