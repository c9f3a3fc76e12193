#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace assay {

/// What a meter is. Its figures are readings of that source, never estimates.
struct EnergyMeterFacts {
  std::string name;                 ///< "RAPL".
  std::string scope;                ///< What the joules cover: "package-0, dram".
  double resolution_j = 0;          ///< Smallest step of the counter.
  double update_period_s = 0;       ///< How often the source renews it.
  std::optional<double> limit_w{};  ///< What the packages may draw at most, where every one of them says it.
};

/// A counter of joules.
class EnergyMeter {
 public:
  virtual ~EnergyMeter() = default;
  virtual const EnergyMeterFacts& facts() const = 0;
  /// Joules since some moment in the past; never falls. To be read at least once a minute, so that a counter that
  /// wraps is seen wrapping. Throws a lacking error that names the source where it stopped answering.
  virtual double read_j() = 0;
};

/// The shortest window that such a meter can tell: fewest_resolutions of its updates, and of its steps where the power
/// is at least `power_w`.
double shortest_window_s(const EnergyMeterFacts& meter, double power_w);

/// The meter of this machine, or none and why not.
struct EnergySource {
  std::unique_ptr<EnergyMeter> meter;
  std::string status;  ///< "RAPL: package-0", or "no meter: /sys/class/powercap is absent".
};

/// Looks for RAPL under `root`/sys/class/powercap (packages and their memory; the power planes inside a package and
/// the platform domain overlap with these and are left out).
EnergySource find_energy_meter(const std::filesystem::path& root = "/");

/// Sleeps about so many seconds and returns how many it were.
double sleep_s(double seconds);
/// Mean power while this process does nothing, the baseline of net energy: `wait` is sleep_s but in tests.
double idle_power_w(EnergyMeter& meter, double seconds, const std::function<double(double)>& wait = sleep_s);

/// A window is long enough for a meter when it spans this many of its steps and of its updates: the reading is then
/// within about 1 / 20 of its value.
constexpr double fewest_resolutions = 20;

/// Joules added up over the windows of one subject.
struct EnergySum {
  double joules = 0;
  double seconds = 0;
  int windows = 0;
  int short_windows = 0;  ///< Of these, the ones below fewest_resolutions.

  void add(const EnergyMeterFacts& meter, double window_j, double window_s);
};

}  // namespace assay
