#include "measure/conditions.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "measure/energy.h"
#include "measure/memory.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A recorded tree of /proc and /sys.
class RecordedConditions : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("assay-tree-" + std::to_string(getpid()) + "-" +
                                         testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  fs::path root_;
};

using ConditionsTree = RecordedConditions;
using EnergyTree = RecordedConditions;
using MemoryTree = RecordedConditions;

// Two processors of three over 10 s: 6 s user, 1 s irq and softirq, 3 s stolen, 10 s idle; ticks of 10 ms.
TEST_F(ConditionsTree, LoadOfOthersIsWhatIsBusyAndNotOurs) {
  const auto own_before = read_counters(root_).own_s;
  write("proc/self/status", "Cpus_allowed_list:\t0,2\n");
  write("proc/stat",
        "cpu  9000 0 500 8000 100 0 0 50 0 0\ncpu0 500 0 250 4000 50 0 0 25 0 0\n"
        "cpu1 8000 0 0 0 0 0 0 0 0 0\ncpu2 500 0 250 4000 50 0 0 25 0 0\n");
  Counters before = read_counters(root_);
  write("proc/stat",
        "cpu  9500 100 500 9000 100 60 40 350 0 0\ncpu0 750 50 250 4500 50 30 20 175 0 0\n"
        "cpu1 9000 0 0 0 0 0 0 0 0 0\ncpu2 750 50 250 4500 50 30 20 175 0 0\n");
  Counters after = read_counters(root_);
  EXPECT_GE(before.own_s, own_before);
  after.at_s = before.at_s + 10;
  before.own_s = 20;
  after.own_s = 24;
  Conditions conditions;
  conditions.add(before, after);
  EXPECT_DOUBLE_EQ(conditions.total_s, 20);
  EXPECT_NEAR(*conditions.foreign_load(2), 3.0 / 20, 1e-12);
  EXPECT_NEAR(*conditions.foreign_load(1), 3.0 / 10, 1e-12) << "of the one thread's time";
  EXPECT_NEAR(*conditions.stolen_share(), 3.0 / 20, 1e-12);
}

TEST_F(ConditionsTree, SaysNothingOfLoadFromAFewTicks) {
  Counters before;
  Counters after;
  after.total_s = 0.49;
  after.busy_s = 0.2;
  after.at_s = 0.245;
  Conditions conditions;
  conditions.add(before, after);
  EXPECT_FALSE(conditions.foreign_load(2).has_value());
  conditions.add(before, after);
  EXPECT_TRUE(conditions.foreign_load(2).has_value());
}

TEST_F(ConditionsTree, SaysNothingOfLoadWithoutCounters) {
  Conditions conditions;
  conditions.add(read_counters(root_), read_counters(root_));
  EXPECT_FALSE(conditions.foreign_load(2).has_value());
  EXPECT_FALSE(conditions.stolen_share().has_value());
}

TEST_F(ConditionsTree, FrequencyIsTheMeanOfCpufreqElseOfCpuinfo) {
  EXPECT_FALSE(read_frequency_mhz(root_).has_value());
  write("proc/cpuinfo", "processor : 0\ncpu MHz\t\t: 2000.500\n\nprocessor : 1\ncpu MHz\t\t: 3000.500\n");
  EXPECT_DOUBLE_EQ(*read_frequency_mhz(root_), 2500.5);
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3100000\n");
  write("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3300000\n");
  EXPECT_DOUBLE_EQ(*read_frequency_mhz(root_), 3200);
}

TEST_F(ConditionsTree, TemperatureIsTheHottestProcessorSensor) {
  EXPECT_FALSE(read_temperature_c(root_).has_value());
  write("sys/class/thermal/thermal_zone0/type", "acpitz\n");
  write("sys/class/thermal/thermal_zone0/temp", "90000\n");
  EXPECT_FALSE(read_temperature_c(root_).has_value());
  write("sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
  write("sys/class/thermal/thermal_zone1/temp", "61000\n");
  EXPECT_DOUBLE_EQ(*read_temperature_c(root_), 61);
  write("sys/class/hwmon/hwmon2/name", "k10temp\n");
  write("sys/class/hwmon/hwmon2/temp1_input", "55250\n");
  write("sys/class/hwmon/hwmon2/temp3_input", "57500\n");
  EXPECT_DOUBLE_EQ(*read_temperature_c(root_), 57.5);
}

TEST(Conditions, CountPageFaultsOfThisProcess) {
  const Counters before = read_counters();
  std::vector<char> fresh(64 << 20, 1);
  const Counters after = read_counters();
  Conditions conditions;
  conditions.add(before, after);
  EXPECT_GT(conditions.page_faults, 0);
  EXPECT_GT(conditions.own_s, 0);
  EXPECT_EQ(fresh.back(), 1);
}

TEST_F(EnergyTree, NoMeterSaysWhyNot) {
  EnergySource source = find_energy_meter(root_);
  EXPECT_EQ(source.meter, nullptr);
  EXPECT_EQ(source.words, (root_ / "sys/class/powercap").string() + " is absent");
  write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
  source = find_energy_meter(root_);
  EXPECT_EQ(source.meter, nullptr);
  EXPECT_NE(source.words.find("intel-rapl:0/energy_uj may not be read"), std::string::npos) << source.words;
}

TEST_F(EnergyTree, RaplAddsPackagesAndMemoryAndLeavesOutWhatOverlaps) {
  const auto zone = [&](const std::string& folder, const std::string& name, const std::string& uj) {
    write("sys/class/powercap/" + folder + "/name", name + "\n");
    write("sys/class/powercap/" + folder + "/energy_uj", uj + "\n");
    write("sys/class/powercap/" + folder + "/max_energy_range_uj", "262143328850\n");
  };
  zone("intel-rapl:0", "package-0", "1000000");
  zone("intel-rapl:0:0", "core", "500000");
  zone("intel-rapl:0:1", "dram", "2000000");
  zone("intel-rapl:1", "psys", "7000000");
  EnergySource source = find_energy_meter(root_);
  ASSERT_NE(source.meter, nullptr);
  EXPECT_EQ(source.words, "RAPL: package-0, dram");
  const double begin_j = source.meter->read_j();
  zone("intel-rapl:0", "package-0", "3500000");
  zone("intel-rapl:0:0", "core", "900000");
  zone("intel-rapl:0:1", "dram", "2250000");
  EXPECT_NEAR(source.meter->read_j() - begin_j, 2.75, 1e-9);
}

TEST_F(EnergyTree, TheLimitIsTheHighestConstraintOfEveryPackage) {
  for (const char* zone : {"intel-rapl:0", "intel-rapl:1"}) {
    const fs::path folder = fs::path("sys/class/powercap") / zone;
    write(folder / "name", "package-0\n");
    write(folder / "energy_uj", "1\n");
    write(folder / "max_energy_range_uj", "1000\n");
  }
  EXPECT_FALSE(find_energy_meter(root_).meter->facts().limit_w.has_value());
  write("sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw", "125000000\n");
  write("sys/class/powercap/intel-rapl:0/constraint_1_power_limit_uw", "150000000\n");
  EXPECT_FALSE(find_energy_meter(root_).meter->facts().limit_w.has_value()) << "the other package says none";
  write("sys/class/powercap/intel-rapl:1/constraint_0_power_limit_uw", "100000000\n");
  EXPECT_DOUBLE_EQ(*find_energy_meter(root_).meter->facts().limit_w, 250);
}

TEST(Energy, AWindowIsLongEnoughForUpdatesAndSteps) {
  const EnergyMeterFacts meter{"m", "s", 0.01, 1e-3, {}};
  EXPECT_DOUBLE_EQ(shortest_window_s(meter, 100), 0.02);
  EXPECT_DOUBLE_EQ(shortest_window_s(meter, 2), 0.1);
}

TEST_F(EnergyTree, RaplCountsThroughAWrap) {
  write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
  write("sys/class/powercap/intel-rapl:0/energy_uj", "9000000\n");
  write("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "10000000\n");
  EnergySource source = find_energy_meter(root_);
  ASSERT_NE(source.meter, nullptr);
  write("sys/class/powercap/intel-rapl:0/energy_uj", "500000\n");
  EXPECT_NEAR(source.meter->read_j(), 1.5, 1e-9);
  fs::remove(root_ / "sys/class/powercap/intel-rapl:0/energy_uj");
  EXPECT_THROW(source.meter->read_j(), std::runtime_error);
}

TEST(EnergySum, MarksWindowsBelowTwentyResolutions) {
  const EnergyMeterFacts meter{"m", "s", 0.001, 0.01, {}};
  EnergySum sum;
  sum.add(meter, 0.019, 1.0);  // too few joules
  sum.add(meter, 1.0, 0.19);   // too few updates
  sum.add(meter, 0.021, 0.21);
  EXPECT_EQ(sum.windows, 3);
  EXPECT_EQ(sum.short_windows, 2);
  EXPECT_NEAR(sum.joules, 1.04, 1e-12);
}

TEST_F(MemoryTree, ResidentSetAndPeakAreReadFromStatus) {
  EXPECT_FALSE(read_resident_memory(root_).has_value());
  write("proc/self/status", "Name:\tx\nVmPeak:\t 9000 kB\nVmHWM:\t    1688 kB\nVmRSS:\t    1500 kB\n");
  const auto memory = read_resident_memory(root_);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->bytes, 1500 * 1024);
  EXPECT_EQ(memory->peak_bytes, 1688 * 1024);
}

TEST(ResidentMemory, GrowsWithTouchedPages) {
  const auto before = read_resident_memory();
  if (!before) GTEST_SKIP() << "/proc/self/status is not readable here";
  std::vector<char> fresh(std::size_t{64} << 20, 1);
  const auto after = read_resident_memory();
  ASSERT_TRUE(after);
  EXPECT_GE(after->peak_bytes - before->bytes, static_cast<std::int64_t>(fresh.size()) * 9 / 10);
}

}  // namespace
}  // namespace assay
