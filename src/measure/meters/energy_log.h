#pragma once

#include <cmath>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "measure/meters/power_meter.h"

namespace assay {

/// What a thread that hears a meter writes, and what read_j() reads; both may come at any time.
class EnergyLog {
 public:
  void add_watts(double at_s, double watts);
  /// A counter; one that falls is a fault.
  void add_joules(double at_s, double joules);
  /// From now on read() throws this.
  void fail(const std::string& message);

  /// How often figures come; what lies beyond, without one, is missed.
  void set_period(double seconds);
  /// Joules until now, never less than before: the last power is held, a counter stands. Throws a lacking error after
  /// fail(), or where the last figure is older than `most_age_s`.
  double read_j(double now_s, double most_age_s);
  /// Bound on what changes between figures and silence until the last read_j() have hidden.
  double missed_j() const;
  /// Waits until so many figures have come, or fail(); false where neither happens in time.
  bool wait_for(std::size_t figures, double most_s);

 private:
  void note(double at_s);
  double silence_j(double now_s) const;

  mutable std::mutex mutex_;
  std::condition_variable came_;
  PowerIntegral integral_;
  bool is_counter_ = false;
  std::optional<double> first_j_;
  double counted_j_ = 0;
  double read_j_ = 0;
  double first_s_ = 0;
  double last_s_ = 0;
  double period_s_ = INFINITY;
  double silence_j_ = 0;      ///< Of silences that were read into.
  double gap_silence_j_ = 0;  ///< The part of these since the last figure.
  std::size_t figures_ = 0;
  std::string fault_;
};

/// The smallest step that figures so written can tell: "12.30" 0.01, "7" 1.
double step_of(std::string_view figure);

}  // namespace assay
