#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "measure/meters.h"
#include "measure/meters/simulated_device.h"

namespace assay {
namespace {

using Power = SimulatedDevice::Power;

constexpr double pi = 3.14159265358979;

/// Idle at 12 W until the work begins, then 65 W.
Power work_from(double begin_s) {
  return [begin_s](double at_s) { return at_s < begin_s ? 12.0 : 65.0; };
}

struct Case {
  const char* name;
  double period_s;
  Power power;
};

std::vector<Case> cases() {
  return {{"constant, 1 ms", 1e-3, [](double) { return 48.0; }},
          {"constant, 100 ms", 0.1, [](double) { return 48.0; }},
          {"slow wave, 10 ms", 1e-2, [](double at_s) { return 40 + 4 * std::sin(2 * pi * at_s / 7); }},
          {"idle before the first window, 100 ms", 0.1, work_from(1001.03)}};
}

/// Reads windows of random lengths of at least twenty updates; each must be within its own uncertainty of the truth.
void expect_windows_within(SimulatedDevice& device, EnergyMeter& meter, double look_every_s) {
  Random random(7);
  for (int window = 0; window < 40; ++window) {
    const double length_s = meter.facts().update_period_s * (20 + 30 * random.next_uniform());
    const double begin_j = meter.read_j();
    const double begin_missed_j = meter.missed_j();
    const double begin_truth_j = device.energy_j();
    for (double left_s = length_s; left_s > 0; left_s -= look_every_s) {
      device.pass(std::min(look_every_s, left_s));
      meter.read_j();
    }
    EnergySum sum;
    sum.add(meter.facts(), meter.read_j() - begin_j, length_s, meter.missed_j() - begin_missed_j);
    EXPECT_NEAR(sum.joules, device.energy_j() - begin_truth_j, sum.uncertainty_j) << "window " << window;
    EXPECT_LE(sum.uncertainty_j, 0.11 * sum.joules) << "an uncertainty that allows everything says nothing";
    device.pass(meter.facts().update_period_s * random.next_uniform());
  }
}

TEST(SystemMeters, RaplRecoversTheEnergyOfADeviceWithinItsUncertainty) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    SimulatedDevice device(one.period_s, one.power, shown_by_rapl());
    EnergySource source = find_meters({.root = device.tree().root()}, device.time());
    ASSERT_TRUE(source.meter) << source.words;
    EXPECT_NEAR(source.meter->facts().update_period_s, one.period_s, 2e-4) << "measured at the start";
    expect_windows_within(device, *source.meter, 1e9);
  }
}

TEST(SystemMeters, RaplCountsOnThroughManyWraps) {
  SimulatedDevice device(1e-3, [](double) { return 50.0; }, shown_by_rapl(2.0));
  EnergySource source = find_meters({.root = device.tree().root()}, device.time());
  ASSERT_TRUE(source.meter) << source.words;
  const double begin_j = source.meter->read_j();
  const double truth_j = device.energy_j();
  for (int i = 0; i < 200; ++i) {
    device.pass(0.011);
    source.meter->read_j();
  }
  EXPECT_NEAR(source.meter->read_j() - begin_j, device.energy_j() - truth_j, 0.06);
  EXPECT_GT(device.energy_j() - truth_j, 50 * 2.0);
}

/// What an idle counter of 40 W says after the work is done to it.
class Fault : public testing::Test {
 protected:
  void SetUp() override {
    source_ = find_meters({.root = device_.tree().root()}, device_.time());
    ASSERT_TRUE(source_.meter) << source_.words;
    device_.pass(0.5);
    source_.meter->read_j();
  }
  std::string fault() {
    try {
      source_.meter->read_j();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::lacking);
      return e.what();
    }
    return "";
  }
  const std::string counter_ = "sys/class/powercap/intel-rapl:0/energy_uj";
  SimulatedDevice device_{1e-3, [](double) { return 40.0; }, shown_by_rapl()};
  EnergySource source_;
};

TEST_F(Fault, ACounterThatStepsBackIsNoWrap) {
  device_.tree().write(counter_, "17\n");
  EXPECT_NE(fault().find("intel-rapl:0/energy_uj: the energy counter stepped back from"), std::string::npos);
}

TEST_F(Fault, ACounterThatVanishesIsNamed) {
  std::filesystem::remove_all(device_.tree().root() / "sys/class/powercap");
  EXPECT_NE(fault().find("intel-rapl:0/energy_uj: the energy counter stopped answering"), std::string::npos);
}

TEST_F(Fault, ACounterThatHoldsNoNumberIsNamed) {
  device_.tree().write(counter_, "gone\n");
  EXPECT_NE(fault().find("stopped answering"), std::string::npos);
}

TEST(SystemMeters, ACounterThatStandsStillIsNoMeter) {
  SimulatedDevice device(1e-3, [](double) { return 0.0; }, shown_by_rapl());
  const EnergySource source = find_meters({.root = device.tree().root()}, device.time());
  EXPECT_FALSE(source.meter);
  EXPECT_NE(source.words.find("stood still for 3"), std::string::npos) << source.words;
}

TEST(EnergySum, ACounterThatStopsLaterIsSeenToStandStill) {
  const EnergyMeterFacts meter{.name = "m", .scope = "s", .resolution_j = 1e-4, .update_period_s = 1e-3};
  EnergySum stuck;
  stuck.add(meter, 0, 0.5);
  EXPECT_TRUE(stuck.stood_still(meter));
  EnergySum too_short_to_say;
  too_short_to_say.add(meter, 0, 1e-3);
  EXPECT_FALSE(too_short_to_say.stood_still(meter));
  EnergySum moving;
  moving.add(meter, 0.1, 0.5);
  EXPECT_FALSE(moving.stood_still(meter));
  EnergySum frozen = moving;
  for (int window = 0; window < 4; ++window) frozen.add(meter, 0, 0.01);
  EXPECT_TRUE(frozen.stood_still(meter)) << "for 40 updates in the midst of work";
  frozen.add(meter, 0.1, 0.5);
  EXPECT_TRUE(frozen.stood_still(meter)) << "and what it misses stays missing";
  EnergySum coarse;
  const EnergyMeterFacts battery{.name = "b", .scope = "s", .resolution_j = 36, .update_period_s = 1e-3};
  for (int window = 0; window < 40; ++window) coarse.add(battery, window % 10 == 0 ? 36 : 0, 0.5);
  EXPECT_FALSE(coarse.stood_still(battery)) << "its steps are that far apart";
}

TEST(SystemMeters, RaplsDomainsAreMetersOfTheirOwnReach) {
  const auto show = [](const RecordedTree& tree, double joules, double) {
    const auto zone = [&](const std::string& folder, const std::string& name, double share) {
      const std::string path = "sys/class/powercap/" + folder + "/";
      tree.write(path + "name", name + "\n");
      tree.write(path + "max_energy_range_uj", "262143328850\n");
      tree.write(path + "energy_uj", counted(share * joules, 0x1p-14, 262143));
    };
    zone("intel-rapl:0", "package-0", 1);
    zone("intel-rapl:0:0", "core", 0.7);
    zone("intel-rapl:0:1", "uncore", 0.1);
    zone("intel-rapl:0:2", "dram", 0.2);
    zone("intel-rapl:1", "psys", 1.6);
  };
  SimulatedDevice device(1e-3, [](double) { return 30.0; }, show);
  const EnergySource source = find_meters({.root = device.tree().root()}, device.time());
  ASSERT_TRUE(source.meter) << source.words;
  EXPECT_EQ(source.words, "RAPL: package-0, dram");
  EXPECT_EQ(source.meter->facts().reach, EnergyReach::processor);
  std::vector<std::pair<std::string, EnergyReach>> others;
  for (const auto& other : source.others) others.emplace_back(other->facts().name, other->facts().reach);
  EXPECT_EQ(others, (std::vector<std::pair<std::string, EnergyReach>>{{"RAPL-core", EnergyReach::core},
                                                                      {"RAPL-package", EnergyReach::package},
                                                                      {"RAPL-psys", EnergyReach::platform},
                                                                      {"RAPL-uncore", EnergyReach::core}}))
      << "a part is held against the package alone, not with its memory";
  const double begin_j = source.meter->read_j();
  device.pass(1);
  EXPECT_NEAR(source.meter->read_j() - begin_j, 36, 0.1);
  const EnergySource psys = find_meters({.name = "rapl-PSYS", .root = device.tree().root()}, device.time());
  EXPECT_EQ(psys.words, "RAPL-psys: psys");
  EXPECT_EQ(psys.others.size(), 4u);
}

TEST(SystemMeters, SocketsOfAmdEnergyAreSummedAndItsCoresApart) {
  const auto show = [](const RecordedTree& tree, double joules, double) {
    const std::string chip = "sys/class/hwmon/hwmon2/";
    tree.write(chip + "name", "amd_energy\n");
    for (const auto& [number, label, share] :
         {std::tuple{1, "Ecore000", 0.2}, {2, "Ecore001", 0.3}, {3, "Esocket0", 1.0}, {4, "Esocket1", 0.5}}) {
      tree.write(chip + fmt::format("energy{}_label", number), fmt::format("{}\n", label));
      tree.write(chip + fmt::format("energy{}_input", number), counted(share * joules, 1e-6, 1e12));
    }
  };
  SimulatedDevice device(0.1, [](double) { return 40.0; }, show);
  EnergySource source = find_meters({.root = device.tree().root()}, device.time());
  ASSERT_TRUE(source.meter) << source.words;
  EXPECT_EQ(source.words, "hwmon-amd_energy: Esocket0, Esocket1");
  EXPECT_NEAR(source.meter->facts().update_period_s, 0.1, 1e-3);
  const double begin_j = source.meter->read_j();
  device.pass(20);
  EXPECT_NEAR(source.meter->read_j() - begin_j, 1200, 6.1);
  ASSERT_EQ(source.others.size(), 1u);
  EXPECT_EQ(source.others[0]->facts().reach, EnergyReach::core);
}

/// An Arm board's sensor: a power in microwatts, renewed every 100 ms.
SimulatedDevice::Show shown_by_board(const std::string& label) {
  return [label](const RecordedTree& tree, double, double watts) {
    const std::string chip = "sys/class/hwmon/hwmon0/";
    tree.write(chip + "name", "ina219\n");
    tree.write(chip + "update_interval", "100\n");
    tree.write(chip + "power1_label", label + "\n");
    tree.write(chip + "power1_input", fmt::format("{:.0f}\n", std::floor(watts / 0.02) * 0.02 * 1e6));
  };
}

TEST(SystemMeters, APowerSensorIsIntegratedWithinItsUncertainty) {
  SimulatedDevice device(0.1, [](double at_s) { return 6 + 0.5 * std::sin(at_s); }, shown_by_board("VDD_SOC"));
  EnergySource source = find_meters({.name = "hwmon-ina219-VDD_SOC", .root = device.tree().root()}, device.time());
  ASSERT_TRUE(source.meter) << source.words;
  EXPECT_DOUBLE_EQ(source.meter->facts().update_period_s, 0.1);
  EXPECT_EQ(source.meter->facts().unit, "uW, integrated");
  expect_windows_within(device, *source.meter, 0.05);
}

TEST(SystemMeters, ASensorOfAnUnknownPartIsTakenByNameOnly) {
  SimulatedDevice device(0.1, [](double) { return 5.0; }, shown_by_board("5V0 rail"));
  const EnergySource source = find_meters({.root = device.tree().root()}, device.time());
  EXPECT_FALSE(source.meter);
  EXPECT_NE(source.words.find("hwmon-ina219-5V0 rail"), std::string::npos) << source.words;
}

SimulatedDevice::Show shown_by_battery(bool has_power) {
  return [has_power](const RecordedTree& tree, double, double watts) {
    const std::string supply = "sys/class/power_supply/BAT0/";
    tree.write(supply + "type", "Battery\n");
    tree.write(supply + "status", "Discharging\n");
    if (has_power) return tree.write(supply + "power_now", fmt::format("{:.0f}\n", watts * 1e6));
    tree.write(supply + "voltage_now", "12500000\n");
    tree.write(supply + "current_now", fmt::format("-{:.0f}\n", watts / 12.5 * 1e6));
  };
}

TEST(SystemMeters, ABatteryIsTheWholeMachineByPowerOrByCurrentAndVoltage) {
  for (const bool has_power : {true, false}) {
    SimulatedDevice device(0.5, [](double at_s) { return 15 + std::sin(at_s / 3); }, shown_by_battery(has_power));
    EnergySource source = find_meters({.root = device.tree().root()}, device.time());
    ASSERT_TRUE(source.meter) << source.words;
    EXPECT_EQ(source.words, "battery-BAT0: the whole machine");
    EXPECT_EQ(source.meter->facts().reach, EnergyReach::machine);
    expect_windows_within(device, *source.meter, 0.25);
  }
}

TEST(SystemMeters, ABatteryThatIsPluggedInIsRefusedAndStopsBeingAMeter) {
  SimulatedDevice device(0.5, [](double) { return 15.0; }, shown_by_battery(true));
  EnergySource source = find_meters({.root = device.tree().root()}, device.time());
  ASSERT_TRUE(source.meter) << source.words;
  device.tree().write("sys/class/power_supply/BAT0/status", "Charging\n");
  EXPECT_THROW(source.meter->read_j(), Error);
  const EnergySource again = find_meters({.root = device.tree().root()}, device.time());
  EXPECT_FALSE(again.meter);
  EXPECT_NE(again.words.find("status is Charging"), std::string::npos) << again.words;
}

TEST(FindMeters, WhatIsAskedForByNameMustBeThere) {
  const RecordedTree empty;
  EXPECT_THROW(find_meters({.name = "rapl", .root = empty.root()}), Error);
  EXPECT_EQ(find_meters({.name = "none", .root = empty.root()}).words, "none was asked for");
}

TEST(EnergyWindow, IsAsLongAsTheAskedUncertaintyNeeds) {
  const EnergyMeterFacts counter{.name = "c", .scope = "s", .resolution_j = 0.5, .update_period_s = 0.1};
  const double window_s = window_for_s(counter, 50, 0.02);
  EXPECT_NEAR(window_uncertainty_j(counter, 50 * window_s, window_s), 0.02 * 50 * window_s, 1e-9);
  EnergyMeterFacts power{.name = "p", .scope = "s", .update_period_s = 1};
  power.power_step_w = 1;
  EXPECT_NEAR(window_uncertainty_j(power, 100 * window_for_s(power, 100, 0.05), window_for_s(power, 100, 0.05)),
              5 * window_for_s(power, 100, 0.05), 1e-9);
  EXPECT_TRUE(std::isinf(window_for_s(power, 10, 0.05))) << "steps of 1 W at 10 W are 10 %";
}

EnergySum sum_of(double joules, double uncertainty_j) {
  EnergySum sum;
  sum.joules = joules;
  sum.uncertainty_j = uncertainty_j;
  return sum;
}

TEST(MetersDisagree, WhereAPartUsesMoreThanItsWhole) {
  EnergyMeterFacts core{.name = "RAPL-core", .scope = "core"};
  EnergyMeterFacts processor{.name = "RAPL", .scope = "package-0, dram"};
  EnergyMeterFacts platform{.name = "RAPL-psys", .scope = "psys"};
  EnergyMeterFacts gpu{.name = "NVML", .scope = "GPU 0"};
  core.reach = EnergyReach::core;
  processor.reach = EnergyReach::processor;
  platform.reach = EnergyReach::platform;
  gpu.reach = EnergyReach::gpu;
  EXPECT_FALSE(meters_disagree(core, sum_of(30, 1), processor, sum_of(50, 1)));
  EXPECT_FALSE(meters_disagree(processor, sum_of(50, 1), core, sum_of(30, 1)));
  EXPECT_FALSE(meters_disagree(processor, sum_of(50, 1), platform, sum_of(80, 1)));
  EXPECT_FALSE(meters_disagree(processor, sum_of(50, 1), gpu, sum_of(500, 1))) << "neither is part of the other";
  const auto said = meters_disagree(platform, sum_of(20, 1), processor, sum_of(50, 1));
  ASSERT_TRUE(said);
  EXPECT_NE(said->find("RAPL (package-0, dram) read 50.0 J ± 1.00, but RAPL-psys (psys) read 20.0 J"),
            std::string::npos)
      << *said;
}

TEST(MetersDisagree, WhereTwoOfTheSamePartAreFurtherApartThanTheyMayBe) {
  EnergyMeterFacts a{.name = "a", .scope = "package-0"};
  a.reach = EnergyReach::package;
  EnergyMeterFacts b = a;
  EXPECT_FALSE(meters_disagree(a, sum_of(100, 2), b, sum_of(105, 2)));
  EXPECT_TRUE(meters_disagree(a, sum_of(100, 2), b, sum_of(130, 2)));
}

}  // namespace
}  // namespace assay
