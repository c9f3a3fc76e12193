#include "measure/meters/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.h"

namespace assay {
namespace {

constexpr const char* library_name = "libnvidia-ml.so.1";
constexpr int core_temperature = 0;      // NVML_TEMPERATURE_GPU
constexpr int multiprocessor_clock = 1;  // NVML_CLOCK_SM

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

class NvmlCounter final : public EnergyMeter {
 public:
  NvmlCounter(const Nvml& nvml, Nvml::Device device, EnergyMeterFacts facts)
      : nvml_(nvml), device_(device), facts_(std::move(facts)) {}

  const EnergyMeterFacts& facts() const override { return facts_; }
  double read_j() override {
    unsigned long long millijoules = 0;
    if (nvml_.total_energy_mj(device_, &millijoules) != 0) fail_lacking("{}: stopped answering", facts_.source);
    return static_cast<double>(millijoules) * 1e-3;
  }
  void set_update_period(double seconds) override { facts_.update_period_s = seconds; }

 private:
  Nvml nvml_;
  Nvml::Device device_;
  EnergyMeterFacts facts_;
};

std::optional<Nvml::Device> open_device(const Nvml& nvml, const std::string& bus_id) {
  Nvml::Device device = nullptr;
  if (nvml.init() != 0) return std::nullopt;
  const int status = bus_id.empty() ? nvml.device_by_index(0, &device) : nvml.device_by_bus_id(bus_id.c_str(), &device);
  return status == 0 ? std::optional(device) : std::nullopt;
}

EnergyMeterFacts facts_of(const Nvml& nvml, Nvml::Device device) {
  char name[96] = "GPU";
  nvml.device_name(device, name, sizeof(name));
  EnergyMeterFacts facts;
  facts.scope = name;
  facts.source = library_name;
  facts.reach = EnergyReach::gpu;
  unsigned limit_mw = 0;
  if (nvml.power_limit_mw(device, &limit_mw) == 0) facts.limit_w = limit_mw * 1e-3;
  return facts;
}

/// NVML's nvmlDeviceGetPowerUsage: a mean over one second from Ampere on, but for GA100 (8.0), which tells the moment's
/// as its elders do. A device that does not say what it is counts as a new one.
double power_averaging_s(const Nvml& nvml, Nvml::Device device) {
  int major = 0;
  int minor = 0;
  const bool is_known = nvml.compute_capability(device, &major, &minor) == 0;
  return is_known && (major < 8 || (major == 8 && minor == 0)) ? 0 : 1;
}

struct Reason {
  std::uint64_t bit;
  const char* words;
};
/// NVML's clocksEventReasons, but for idle (0x1), the clocks that were asked for (0x2), sync boost (0x10) and the
/// display's setting (0x100), which are no distress.
constexpr Reason reasons_table[] = {
    {0x4, "power cap"}, {0x8, "slowdown"}, {0x20, "heat (software)"}, {0x40, "heat (hardware)"}, {0x80, "power brake"}};

}  // namespace

std::optional<Nvml> load_nvml() {
  void* library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  Nvml nvml;
  const bool complete = find(library, "nvmlInit_v2", nvml.init) &&
                        find(library, "nvmlDeviceGetHandleByIndex_v2", nvml.device_by_index) &&
                        find(library, "nvmlDeviceGetHandleByPciBusId_v2", nvml.device_by_bus_id) &&
                        find(library, "nvmlDeviceGetName", nvml.device_name) &&
                        find(library, "nvmlDeviceGetTotalEnergyConsumption", nvml.total_energy_mj) &&
                        find(library, "nvmlDeviceGetPowerUsage", nvml.power_mw) &&
                        find(library, "nvmlDeviceGetEnforcedPowerLimit", nvml.power_limit_mw) &&
                        find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", nvml.throttle_reasons) &&
                        find(library, "nvmlDeviceGetTemperature", nvml.temperature_c) &&
                        find(library, "nvmlDeviceGetClockInfo", nvml.clock_mhz) &&
                        find(library, "nvmlDeviceGetCudaComputeCapability", nvml.compute_capability);
  return complete ? std::optional(nvml) : std::nullopt;
}

std::vector<std::unique_ptr<EnergyMeter>> make_nvml_meters(const Nvml& nvml, const std::string& bus_id,
                                                           const MeterTime& time) {
  std::vector<std::unique_ptr<EnergyMeter>> meters;
  const std::optional<Nvml::Device> device = open_device(nvml, bus_id);
  if (!device) return meters;
  EnergyMeterFacts facts = facts_of(nvml, *device);
  unsigned long long millijoules = 0;
  if (nvml.total_energy_mj(*device, &millijoules) == 0) {
    facts.name = "NVML";
    facts.resolution_j = 1e-3;
    facts.unit = "mJ";
    meters.push_back(std::make_unique<NvmlCounter>(nvml, *device, facts));
  }
  unsigned milliwatts = 0;
  if (nvml.power_mw(*device, &milliwatts) == 0) {
    facts.name = "NVML-power";
    facts.resolution_j = 0;
    facts.power_step_w = 1e-3;
    facts.unit = "mW, integrated";
    facts.update_period_s = 0.1;  // About what most boards renew it at; their documents promise none.
    facts.averaging_s = power_averaging_s(nvml, *device);
    const auto read_watts = [nvml, at = *device, source = facts.source] {
      unsigned now_mw = 0;
      if (nvml.power_mw(at, &now_mw) != 0) fail_lacking("{}: stopped answering", source);
      return now_mw * 1e-3;
    };
    meters.push_back(make_power_meter({read_watts, time}, facts));
  }
  return meters;
}

namespace {

GpuConditions conditions_of(const Nvml& nvml, Nvml::Device device) {
  GpuConditions conditions;
  unsigned long long bits = 0;
  unsigned value = 0;
  if (nvml.throttle_reasons(device, &bits) == 0) conditions.throttle_reasons = bits;
  if (nvml.temperature_c(device, core_temperature, &value) == 0) conditions.temperature_c = static_cast<int>(value);
  if (nvml.clock_mhz(device, multiprocessor_clock, &value) == 0) conditions.clock_mhz = static_cast<int>(value);
  return conditions;
}

}  // namespace

GpuConditions read_gpu_conditions(const Nvml& nvml, const std::string& bus_id) {
  const std::optional<Nvml::Device> device = open_device(nvml, bus_id);
  return device ? conditions_of(nvml, *device) : GpuConditions{};
}

std::function<GpuConditions()> gpu_conditions_reader(const std::string& bus_id) {
  const std::optional<Nvml> nvml = load_nvml();
  const std::optional<Nvml::Device> device = nvml ? open_device(*nvml, bus_id) : std::nullopt;
  if (!device) return {};
  return [nvml = *nvml, device = *device] { return conditions_of(nvml, device); };
}

bool is_throttled(std::uint64_t reasons) {
  return !throttle_words(reasons).empty();
}

bool may_leave_out(std::int64_t left_out, std::int64_t counted) {
  return left_out <= counted;
}

std::string throttle_words(std::uint64_t reasons) {
  std::string words;
  for (const Reason& reason : reasons_table) {
    if ((reasons & reason.bit) == 0) continue;
    words += (words.empty() ? "" : ", ") + std::string(reason.words);
  }
  return words;
}

}  // namespace assay
