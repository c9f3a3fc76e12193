#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/gpu_conditions.h"
#include "measure/meters/power_meter.h"

namespace assay {

/// NVIDIA's management library, as far as it is used: its C interface, opened when it is asked for. Results: 0 is
/// success. A test hands in functions of its own.
struct Nvml {
  using Device = void*;
  int (*init)() = nullptr;
  int (*device_by_index)(unsigned index, Device* device) = nullptr;
  int (*device_by_bus_id)(const char* bus_id, Device* device) = nullptr;
  int (*device_name)(Device device, char* name, unsigned length) = nullptr;
  int (*total_energy_mj)(Device device,
                         unsigned long long* millijoules) = nullptr;  ///< Since the driver was loaded; Volta on.
  int (*power_mw)(Device device, unsigned* milliwatts) = nullptr;
  int (*power_limit_mw)(Device device, unsigned* milliwatts) = nullptr;
  int (*throttle_reasons)(Device device, unsigned long long* bits) = nullptr;
  int (*temperature_c)(Device device, int sensor, unsigned* degrees) = nullptr;
  int (*clock_mhz)(Device device, int kind, unsigned* megahertz) = nullptr;
  int (*compute_capability)(Device device, int* major, int* minor) = nullptr;
};

/// The library of the installed driver; none where there is no driver.
std::optional<Nvml> load_nvml();

/// "NVML", a counter, where the GPU has one, and "NVML-power", a power that is integrated, where it tells that: best
/// first. Whoever reads both sees by how much they disagree. Empty where the library answers nothing.
/// `bus_id`: PCI bus id of the GPU; empty: the first. The driver's order is not that of CUDA, nor does it heed
/// CUDA_VISIBLE_DEVICES.
std::vector<std::unique_ptr<EnergyMeter>> make_nvml_meters(const Nvml& nvml, const std::string& bus_id,
                                                           const MeterTime& time);

GpuConditions read_gpu_conditions(const Nvml& nvml, const std::string& bus_id);

}  // namespace assay
