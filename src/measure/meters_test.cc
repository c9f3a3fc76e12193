#include "measure/meters.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "measure/meters/simulated_device.h"

namespace assay {
namespace {

TEST(FindMeters, SensorsOfOneNameOnTwoChipsAreTwoMeters) {
  const auto show = [](const RecordedTree& tree, double joules, double watts) {
    for (const std::string chip : {"sys/class/hwmon/hwmon0/", "sys/class/hwmon/hwmon4/"}) {
      tree.write(chip + "name", "amdgpu\n");
      tree.write(chip + "power1_label", "PPT\n");
      const std::string file = chip.find("hwmon0") != std::string::npos ? "power1_input" : "power1_average";
      tree.write(chip + file, fmt::format("{:.0f}\n", watts * 1e6));
      tree.write(chip + "energy1_input", fmt::format("{:.0f}\n", joules * 1e6));
    }
  };
  SimulatedDevice device(0.1, [](double at_s) { return 30 + std::sin(at_s); }, show);
  std::set<std::string> names;
  for (const auto& meter : find_system_meters(device.tree().root(), device.time()).meters)
    names.insert(meter->facts().name);
  EXPECT_EQ(names, (std::set<std::string>{"hwmon-amdgpu-PPT-hwmon0", "hwmon-amdgpu-PPT-hwmon4",
                                          "hwmon-amdgpu-energy1-hwmon0", "hwmon-amdgpu-energy1-hwmon4"}));
}

TEST(FindMeters, WorkOnTheGpuIsNotBookedToTheProcessor) {
  SimulatedDevice device(1e-3, [](double) { return 48.0; }, shown_by_rapl());
  MeterRequest request{.root = device.tree().root(), .work = MeteredWork::gpu};
  const EnergySource source = find_meters(request, device.time());
  EXPECT_FALSE(source.meter);
  EXPECT_EQ(source.words, " of GPU or machine; other meters here: RAPL");
  EXPECT_EQ(source.others.size(), 1U) << "read all the same";
  request.name = "rapl";
  EXPECT_THROW(find_meters(request, device.time()), Error);
  request.work = MeteredWork::program;
  EXPECT_TRUE(find_meters(request, device.time()).meter);
}

}  // namespace
}  // namespace assay
