#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/conditions.h"
#include "measure/energy.h"
#include "statistics/stopped_by.h"

namespace assay {

/// What was measured of one subject. Times are in ms for one repetition of `run`.
struct Series {
  std::string name;
  std::optional<double> first_ms;   ///< The very first call: page-in, lazy set-up and all.
  std::vector<double> warm_up_ms;   ///< Until steady; not part of the samples.
  bool steady = false;              ///< Whether the warm-up ended by its rule and not by its share of the time.
  int repetitions = 1;              ///< Of `run` in one window.
  std::vector<double> raw_ms;       ///< One value a round: the window divided by its repetitions.
  std::vector<double> raw_inputs;   ///< Where there are several: which one each sample is of.
  double result_sum = 0;            ///< Sum of what read_result gave.
  Conditions conditions;            ///< Over its timed windows.
  std::optional<EnergySum> energy;  ///< Over its timed windows; absent without a meter, or where it failed.
  std::string energy_fault;         ///< Why the meter is none: it stopped answering, or stood still; empty: it is one.
  std::int64_t energy_repeats = 0;  ///< Windows apart that were left out, as others were busy in them.
  std::vector<double> window_power_w;                  ///< Mean power of each metered window, by the run's meter.
  std::vector<std::optional<EnergySum>> other_energy;  ///< Of the other meters, in their order.
  std::vector<std::string> other_energy_faults;        ///< Of each: why it has no sum; empty: nothing went wrong.
  /// One value a round by the device's own clock, and what queueing the same took the host; empty where there is no
  /// device apart, fewer where its queue was full.
  std::vector<double> device_ms;
  std::vector<double> enqueue_ms;
  int throttled_rounds = 0;     ///< Rounds left out, of all subjects, since a GPU's clocks were held down in one.
  double timed_s = 0;           ///< All timed windows together.
  std::int64_t timed_runs = 0;  ///< Runs in them.
  StoppedBy stopped_by = StoppedBy::interrupted;

  /// Joules for one repetition, gross; absent without a meter or a window.
  std::optional<double> energy_j() const;
};

/// How far a series had come. Restoring it takes back what was added since, without a copy of the samples before.
class SeriesMark {
 public:
  explicit SeriesMark(Series& series);
  void restore(Series& series) const;

 private:
  Series sums_;  ///< All but the samples.
  std::vector<std::size_t> counts_;
};

}  // namespace assay
