#include <cstdlib>

#include "hardware/power_sources.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "hardware/recorded_tree.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

PowerSource source_named(const std::vector<PowerSource>& sources, const std::string& name) {
  for (const PowerSource& source : sources) {
    if (source.name == name) return source;
  }
  ADD_FAILURE() << "no source named " << name;
  return {};
}

bool mentions(const PowerSource& source, const std::string& words) {
  return source.why.find(words) != std::string::npos;
}

/// Root may read everything; while this lives, the test is nobody.
class OrdinaryUser {
 public:
  OrdinaryUser() : was_(::geteuid()) {
    if (was_ == 0) changed_ = ::seteuid(65534) == 0;
  }
  ~OrdinaryUser() {
    if (changed_ && ::seteuid(was_) != 0) std::abort();
  }

 private:
  uid_t was_;
  bool changed_ = false;
};

TEST(PowerSources, EveryKindThatIsAbsentSaysSo) {
  const RecordedTree tree;
  const std::vector<PowerSource> sources = find_power_sources(tree.root());
  ASSERT_EQ(sources.size(), 3u);
  EXPECT_TRUE(mentions(source_named(sources, "rapl"), "no /sys/class/powercap"));
  EXPECT_TRUE(mentions(source_named(sources, "hwmon"), "no power or energy sensor"));
  EXPECT_TRUE(mentions(source_named(sources, "battery"), "no battery"));
  for (const PowerSource& source : sources) EXPECT_FALSE(source.readable) << source.name;
}

TEST(PowerSources, RaplDomainsAreFoundByName) {
  const RecordedTree tree;
  tree.write("sys/class/powercap/intel-rapl/enabled", "1\n");
  tree.write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
  tree.write("sys/class/powercap/intel-rapl:0/energy_uj", "123456789\n");
  tree.write("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
  tree.write("sys/class/powercap/intel-rapl:0:0/name", "dram\n");
  tree.write("sys/class/powercap/intel-rapl:0:0/energy_uj", "99\n");
  const std::vector<PowerSource> sources = find_power_sources(tree.root());
  const PowerSource package = source_named(sources, "rapl package-0");
  EXPECT_TRUE(package.readable);
  EXPECT_TRUE(mentions(package, "wraps at 262143 J")) << package.why;
  EXPECT_EQ(package.path, (tree.root() / "sys/class/powercap/intel-rapl:0/energy_uj").string());
  EXPECT_TRUE(source_named(sources, "rapl dram").readable);
}

TEST(PowerSources, DeniedPermissionComesWithItsRemedy) {
  const RecordedTree tree;
  const std::string file = "sys/class/powercap/intel-rapl:0/energy_uj";
  tree.write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
  tree.write(file, "1\n");
  fs::permissions(tree.root() / file, fs::perms::none);
  std::vector<PowerSource> sources;
  {
    const OrdinaryUser user;
    sources = find_power_sources(tree.root());
  }
  const PowerSource package = source_named(sources, "rapl package-0");
  EXPECT_FALSE(package.readable);
  EXPECT_TRUE(mentions(package, "permission denied; run: sudo chmod a+r ")) << package.why;
  EXPECT_TRUE(mentions(package, file)) << package.why;
}

TEST(PowerSources, HwmonSensorsAreThoseOfPowerAndEnergy) {
  const RecordedTree tree;
  tree.write("sys/class/hwmon/hwmon3/name", "amdgpu\n");
  tree.write("sys/class/hwmon/hwmon3/power1_average", "35000000\n");
  tree.write("sys/class/hwmon/hwmon3/power1_label", "PPT\n");
  tree.write("sys/class/hwmon/hwmon3/power1_cap", "200000000\n");
  tree.write("sys/class/hwmon/hwmon3/temp1_input", "40000\n");
  tree.write("sys/class/hwmon/hwmon3/energy1_input", "not a number\n");
  const std::vector<PowerSource> sources = find_power_sources(tree.root());
  EXPECT_EQ(sources.size(), 4u);  // Two sensors, no RAPL, no battery.
  EXPECT_TRUE(source_named(sources, "hwmon amdgpu PPT").readable);
  const PowerSource energy = source_named(sources, "hwmon amdgpu energy1_input");
  EXPECT_FALSE(energy.readable);
  EXPECT_TRUE(mentions(energy, "holds no number"));
}

TEST(PowerSources, ABatteryCountsOnlyWhileItDischarges) {
  const RecordedTree tree;
  tree.write("sys/class/power_supply/AC/type", "Mains\n");
  tree.write("sys/class/power_supply/BAT0/type", "Battery\n");
  tree.write("sys/class/power_supply/BAT0/power_now", "9000000\n");
  tree.write("sys/class/power_supply/BAT0/status", "Discharging\n");
  EXPECT_TRUE(source_named(find_power_sources(tree.root()), "battery BAT0").readable);
  tree.write("sys/class/power_supply/BAT0/status", "Full\n");
  const PowerSource full = source_named(find_power_sources(tree.root()), "battery BAT0");
  EXPECT_FALSE(full.readable);
  EXPECT_TRUE(mentions(full, "status is Full"));
}

}  // namespace
}  // namespace assay
