#include "measure/meters/nvml.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"

namespace assay {
namespace {

/// A GPU that draws 300 W, as the library tells of it.
struct PretendedGpu {
  double now_s = 0;
  bool answers = true;
  bool has_counter = true;
  unsigned long long reasons = 0;
  int major = 9;
  int minor = 0;
};
PretendedGpu gpu;
constexpr double watts = 300;

int answer() {
  return gpu.answers ? 0 : 999;
}

Nvml pretended() {
  gpu = {};
  Nvml nvml;
  nvml.init = [] { return answer(); };
  nvml.device_by_index = [](unsigned index, Nvml::Device* device) {
    *device = &gpu;
    return index == 0 ? answer() : 2;
  };
  nvml.device_by_bus_id = [](const char* bus_id, Nvml::Device* device) {
    *device = &gpu;
    return std::string(bus_id) == "0000:3B:00.0" ? answer() : 6;
  };
  nvml.device_name = [](Nvml::Device, char* name, unsigned length) {
    std::strncpy(name, "Pretended GPU", length);
    return 0;
  };
  nvml.total_energy_mj = [](Nvml::Device, unsigned long long* millijoules) {
    *millijoules = static_cast<unsigned long long>(1e6 + gpu.now_s * watts * 1e3);
    return gpu.has_counter ? answer() : 3;
  };
  nvml.power_mw = [](Nvml::Device, unsigned* milliwatts) {
    *milliwatts = static_cast<unsigned>(watts * 1e3);
    return answer();
  };
  nvml.power_limit_mw = [](Nvml::Device, unsigned* milliwatts) {
    *milliwatts = 700'000;
    return 0;
  };
  nvml.throttle_reasons = [](Nvml::Device, unsigned long long* bits) {
    *bits = gpu.reasons;
    return answer();
  };
  nvml.temperature_c = [](Nvml::Device, int, unsigned* degrees) {
    *degrees = 61;
    return answer();
  };
  nvml.clock_mhz = [](Nvml::Device, int, unsigned* megahertz) {
    *megahertz = 1980;
    return answer();
  };
  nvml.compute_capability = [](Nvml::Device, int* major, int* minor) {
    *major = gpu.major;
    *minor = gpu.minor;
    return answer();
  };
  return nvml;
}

/// Time passes only when somebody sleeps.
MeterTime pretended_time() {
  MeterTime time;
  time.now_s = [] { return gpu.now_s; };
  time.wait_s = [](double seconds) {
    gpu.now_s += seconds;
    return seconds;
  };
  time.polling = Polling::by_caller;
  return time;
}

TEST(Nvml, CounterAndIntegralAgreeOnASteadyLoad) {
  const auto meters = make_nvml_meters(pretended(), "", pretended_time());
  ASSERT_EQ(meters.size(), 2U);
  EXPECT_EQ(meters[0]->facts().name, "NVML");
  EXPECT_EQ(meters[0]->facts().scope, "Pretended GPU");
  EXPECT_EQ(meters[0]->facts().reach, EnergyReach::gpu);
  EXPECT_EQ(meters[0]->facts().limit_w, 700);
  EXPECT_EQ(meters[1]->facts().name, "NVML-power");
  const double before[] = {meters[0]->read_j(), meters[1]->read_j()};
  gpu.now_s += 2;
  EXPECT_NEAR(meters[0]->read_j() - before[0], 2 * watts, 1e-2);
  EXPECT_NEAR(meters[1]->read_j() - before[1], 2 * watts, 1e-2);
}

TEST(Nvml, ABoardWithoutACounterIsIntegrated) {
  const Nvml nvml = pretended();
  gpu.has_counter = false;
  const auto meters = make_nvml_meters(nvml, "", pretended_time());
  ASSERT_EQ(meters.size(), 1U);
  EXPECT_EQ(meters[0]->facts().name, "NVML-power");
}

TEST(Nvml, PowerIsAMeanOverASecondFromAmpereOnButForGa100) {
  const auto averaging_s = [](int major, int minor) {
    const Nvml nvml = pretended();
    gpu.major = major;
    gpu.minor = minor;
    return make_nvml_meters(nvml, "", pretended_time())[1]->facts().averaging_s;
  };
  EXPECT_EQ(averaging_s(7, 5), 0);
  EXPECT_EQ(averaging_s(8, 0), 0);
  EXPECT_EQ(averaging_s(8, 6), 1);
  EXPECT_EQ(averaging_s(9, 0), 1);
}

TEST(Nvml, NoGpuNoMeter) {
  const Nvml nvml = pretended();
  gpu.answers = false;
  EXPECT_TRUE(make_nvml_meters(nvml, "", pretended_time()).empty());
}

TEST(Nvml, TheGpuThatWorksIsFoundByItsBusId) {
  EXPECT_EQ(make_nvml_meters(pretended(), "0000:3B:00.0", pretended_time()).size(), 2U);
  EXPECT_TRUE(make_nvml_meters(pretended(), "0000:5E:00.0", pretended_time()).empty())
      << "another board's energy is not told";
  EXPECT_EQ(read_gpu_conditions(pretended(), "0000:3B:00.0").temperature_c, 61);
}

TEST(Nvml, ACounterThatStopsAnsweringIsNamed) {
  const auto meters = make_nvml_meters(pretended(), "", pretended_time());
  gpu.answers = false;
  EXPECT_THROW(meters[0]->read_j(), Error);
}

TEST(Nvml, IdlenessAndAskedClocksAreNoThrottling) {
  const Nvml nvml = pretended();
  gpu.reasons = 0x1 | 0x2 | 0x10 | 0x100;
  EXPECT_FALSE(is_throttled(read_gpu_conditions(nvml, "").throttle_reasons));
  gpu.reasons = 0x4 | 0x20;
  const GpuConditions hot = read_gpu_conditions(nvml, "");
  EXPECT_TRUE(is_throttled(hot.throttle_reasons));
  EXPECT_EQ(throttle_words(hot.throttle_reasons), "power cap, heat (software)");
  EXPECT_EQ(hot.temperature_c, 61);
  EXPECT_EQ(hot.clock_mhz, 1980);
}

}  // namespace
}  // namespace assay
