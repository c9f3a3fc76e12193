#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/conditions.h"

namespace assay {

/// What part of the machine a meter's joules cover, as far as two meters can be compared by it.
enum class EnergyReach : std::uint8_t { other, core, package, processor, gpu, platform, machine };
const char* name(EnergyReach reach);
/// Whether all that `inner` counts is in `outer` too: cores in packages, packages in processor (packages and their
/// memory) and platform, everything in the machine.
bool is_within(EnergyReach inner, EnergyReach outer);

/// Whose joules are wanted: of work on the processor, on the GPU, or of a program that may use anything.
enum class MeteredWork : std::uint8_t { processor, gpu, program };
/// Whether a meter of `reach` may be told as that work's. `other` may: a user's own meter is what the user says it is.
bool may_tell(EnergyReach reach, MeteredWork work);

/// What a meter is. Its figures are readings of that source, never estimates.
struct EnergyMeterFacts {
  std::string name;                        ///< "RAPL".
  std::string scope;                       ///< What the joules cover: "package-0, dram".
  double resolution_j = 0;                 ///< Smallest step of the counter; 0 for a power that is integrated.
  double update_period_s = 0;              ///< How often the source renews it; see measure_update_period().
  std::optional<double> limit_w{};         ///< What the packages may draw at most, where every one of them says it.
  std::string source{};                    ///< What is read: a file, a command, an address.
  std::string unit{};                      ///< Of the source: "uJ", "uW, integrated".
  double power_step_w = 0;                 ///< Smallest step of a power that is integrated; 0 for a counter.
  EnergyReach reach = EnergyReach::other;  ///< For cross-checks.
  double averaging_s = 0;                  ///< Each figure is a mean over so long before it; 0: of that moment.
};

/// A counter of joules.
class EnergyMeter {
 public:
  virtual ~EnergyMeter() = default;
  virtual const EnergyMeterFacts& facts() const = 0;
  /// Joules since some moment in the past; never falls. To be read at least once a minute, so that a counter that
  /// wraps is seen wrapping. Throws a lacking error that names the source where it stopped answering.
  virtual double read_j() = 0;
  /// Bound on what looking at a power only now and then has missed so far, joules; its growth over a window belongs to
  /// that window's uncertainty. 0 for a counter.
  virtual double missed_j() const { return 0; }
  /// Takes over what was measured. A meter that knows better ignores it.
  virtual void set_update_period(double /*seconds*/) {}
};

/// The shortest window that such a meter can tell: fewest_resolutions of its updates, and of its steps where the power
/// is at least `power_w`.
double shortest_window_s(const EnergyMeterFacts& meter, double power_w);

/// The shortest window whose reading is within `uncertainty` (a share) at that power; infinite where the step of the
/// power alone is more.
double window_for_s(const EnergyMeterFacts& meter, double power_w, double uncertainty);

/// How far a reading over one window may be from what the source counted: both ends may be one update and what the
/// figures are averaged over late, the counter stands on a step, a power on one of its steps. A bound, not a deviation.
/// The calibration of the source itself is not in it: no program can see that, but two meters can (see
/// meters_disagree).
double window_uncertainty_j(const EnergyMeterFacts& meter, double window_j, double window_s);

/// The meter of this machine, or none and why not; and the other meters there are.
struct EnergySource {
  std::unique_ptr<EnergyMeter> meter;
  std::string words;  ///< "RAPL: package-0", or why there is none: "/sys/class/powercap is absent".
  std::vector<std::unique_ptr<EnergyMeter>> others{};
};

/// Looks for RAPL under `root`/sys/class/powercap (packages and their memory; the power planes inside a package and
/// the platform domain overlap with these and are left out). find_meters() in measure/meters.h knows all meters.
EnergySource find_energy_meter(const std::filesystem::path& root = "/");

/// Sleeps about so many seconds and returns how many it were.
double sleep_s(double seconds);

/// Who looks at a power that is integrated.
enum class Polling : std::uint8_t {
  by_thread,  ///< A thread of the meter's own, once an update period.
  by_caller   ///< Only read_j().
};

/// Time as meters see it; simulated in tests.
struct MeterTime {
  std::function<double()> now_s;
  std::function<double(double)> wait_s;  ///< Waits about so many seconds, returns how many it were.
  Polling polling = Polling::by_thread;
};
MeterTime real_meter_time();

/// Watches the meter until its figure has changed some times and tells it the median time between changes. Throws a
/// lacking error that names the meter where its figure stands still for `most_s`.
void measure_update_period(EnergyMeter& meter, const MeterTime& time = real_meter_time(), double most_s = 3);

/// Reads the processors' counters; simulated in tests.
using ReadCounters = std::function<Counters()>;

/// Processors that may be busy where nothing should run: housekeeping of the machine.
constexpr double quiet_processors = 0.1;

/// Mean power while this process does nothing, the baseline of net energy.
struct IdlePower {
  double watts = 0;
  double uncertainty_w = 0;          ///< A bound, see window_uncertainty_j().
  double busy_processors = 0;        ///< Mean; of whatever ran all the same.
  std::optional<double> before_w{};  ///< Of two readings: the first,
  std::optional<double> after_w{};   ///< and the second.
};
/// Waits until the meter has made twenty updates and twenty steps, one second at least and ten at most. A reading in
/// which more than quiet_processors were busy is repeated, twice at most; the quietest counts. `wait` is sleep_s but in
/// tests.
IdlePower measure_idle_power(
    EnergyMeter& meter, const std::function<double(double)>& wait = sleep_s,
    const ReadCounters& counters = [] { return read_counters(); });
/// The baseline of what ran between two readings: their mean, with half of their difference in its uncertainty, as a
/// power that drifts one way lies between. Where only one of them was quiet, that one.
IdlePower idle_between(const IdlePower& before, const IdlePower& after);
/// Whether the meter, which moved before, did not afterwards: nobody knows since when.
bool has_stopped(const IdlePower& before, const IdlePower& after);

/// A window is long enough for a meter when it spans this many of its steps and of its updates: the reading is then
/// within about 1 / 20 of its value.
constexpr double fewest_resolutions = 20;
bool is_short_window(const EnergyMeterFacts& meter, double window_j, double window_s);

/// Runs in metered windows that take longer than the samples' median by this share were disturbed.
constexpr double slow_window = 1.1;

/// Joules added up over the windows of one subject.
struct EnergySum {
  double joules = 0;
  double seconds = 0;
  double uncertainty_j = 0;  ///< Of `joules`, a bound: the windows' added up.
  int windows = 0;
  int short_windows = 0;  ///< Of these, the ones below fewest_resolutions.
  std::int64_t runs = 0;  ///< In all windows; filled by who knows.
  double still_s = 0;     ///< Of the windows since it last moved.
  double most_still_s = 0;
  double busy_s = 0;  ///< Processor seconds in the windows, of everybody,
  double own_s = 0;   ///< and of what was measured. Both 0 where /proc/stat cannot be read.

  /// `missed_j`: what EnergyMeter::missed_j() grew by.
  void add(const EnergyMeterFacts& meter, double window_j, double window_s, double missed_j = 0);
  void add_load(const Counters& before, const Counters& after);
  /// Processors that others kept busy in the windows, a mean.
  double foreign_processors() const;
  /// Bound on what so many busy processors more or less draw, W: by the share that each had in the power of the
  /// windows. It holds where power grows with the processors that are busy, at most in proportion beyond the idle
  /// power. 0 for a GPU's meter.
  double power_of_processors_w(const EnergyMeterFacts& meter, double processors) const;
  /// Whether the source did not move for so long that it cannot be slow: never though it had more than enough time, or
  /// for fewest_resolutions of its updates in which, at the power of the rest, it would have made as many steps.
  bool stood_still(const EnergyMeterFacts& meter) const;
};

/// A sentence where two meters cannot both be right: the same reach and more than their uncertainties and a tenth
/// apart, or a part that used more than its whole. Absent where they agree, or where neither covers the other.
std::optional<std::string> meters_disagree(const EnergyMeterFacts& a, const EnergySum& sum_a, const EnergyMeterFacts& b,
                                           const EnergySum& sum_b);

}  // namespace assay
