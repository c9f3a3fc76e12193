#include "measure/energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

/// Two sound meters of one part differ by their calibration; 10 % is more than makers of either admit.
constexpr double calibration = 0.1;
/// Times between changes that are looked at; their median forgives a delayed look or two.
constexpr std::size_t changes_watched = 8;

int rank(EnergyReach reach) {
  constexpr std::array ranks = {-1, 0, 1, 2, -1, 3, 4};
  return ranks[static_cast<std::size_t>(reach)];
}

std::string reading(const EnergyMeterFacts& meter, const EnergySum& sum) {
  return fmt::format("{} ({}) read {} J ± {}", meter.name, meter.scope, format_significant(sum.joules),
                     format_significant(sum.uncertainty_j));
}

/// How old a figure may be.
double lag_s(const EnergyMeterFacts& meter) {
  return meter.update_period_s + meter.averaging_s;
}

IdlePower read_idle_power(EnergyMeter& meter, const std::function<double(double)>& wait, const ReadCounters& counters) {
  constexpr double look_s = 1;
  constexpr double most_s = 10;
  const Counters before = counters();
  const double begin_j = meter.read_j();
  const double begin_missed_j = meter.missed_j();
  double waited_s = 0;
  double used_j = 0;
  do {
    waited_s += wait(look_s);
    used_j = meter.read_j() - begin_j;
  } while (is_short_window(meter.facts(), used_j, waited_s) && waited_s + look_s <= most_s);
  const double uncertainty_j =
      window_uncertainty_j(meter.facts(), used_j, waited_s) + meter.missed_j() - begin_missed_j;
  return {used_j / waited_s, uncertainty_j / waited_s, (counters().busy_s - before.busy_s) / waited_s};
}

}  // namespace

const char* name(EnergyReach reach) {
  constexpr std::array names = {"other", "cores", "packages", "processor", "GPU", "platform", "machine"};
  return names[static_cast<std::size_t>(reach)];
}

bool is_within(EnergyReach inner, EnergyReach outer) {
  if (outer == EnergyReach::machine) return true;
  return rank(inner) >= 0 && rank(outer) >= 0 && rank(inner) <= rank(outer);
}

bool may_tell(EnergyReach reach, MeteredWork work) {
  const bool has_gpu = reach == EnergyReach::gpu || reach == EnergyReach::machine || reach == EnergyReach::other;
  if (work == MeteredWork::gpu) return has_gpu;
  return work == MeteredWork::program || reach != EnergyReach::gpu;
}

double shortest_window_s(const EnergyMeterFacts& meter, double power_w) {
  const double for_steps_s = power_w > 0 ? meter.resolution_j / power_w : 0;
  return fewest_resolutions * std::max(lag_s(meter), for_steps_s);
}

double window_for_s(const EnergyMeterFacts& meter, double power_w, double uncertainty) {
  const double of_step = power_w > 0 ? meter.power_step_w / power_w : 0;
  if (of_step >= uncertainty) return std::numeric_limits<double>::infinity();
  const double for_steps_s = power_w > 0 ? meter.resolution_j / power_w : 0;
  return (for_steps_s + lag_s(meter)) / (uncertainty - of_step);
}

double window_uncertainty_j(const EnergyMeterFacts& meter, double window_j, double window_s) {
  const double power_w = window_s > 0 ? window_j / window_s : 0;
  return meter.resolution_j + lag_s(meter) * power_w + meter.power_step_w * window_s;
}

double sleep_s(double seconds) {
  const double begin_s = now_s();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return now_s() - begin_s;
}

MeterTime real_meter_time() {
  return {now_s, sleep_s};
}

void measure_update_period(EnergyMeter& meter, const MeterTime& time, double most_s) {
  const double begin_s = time.now_s();
  std::vector<double> periods_s;
  std::optional<double> changed_s;  // The first change only says where the next period begins.
  double last_j = meter.read_j();
  while (periods_s.size() < changes_watched && time.now_s() - begin_s < most_s) {
    time.wait_s(std::clamp((time.now_s() - begin_s) / 50, 1e-4, 5e-3));  // Finer where it may be fast.
    const double now_j = meter.read_j();
    const double now_s = time.now_s();
    if (now_j <= last_j) continue;
    if (changed_s) periods_s.push_back(now_s - *changed_s);
    changed_s = now_s;
    last_j = now_j;
  }
  if (!changed_s)
    fail_lacking("{}: {} stood still for {} s", meter.facts().name, meter.facts().source, format_significant(most_s));
  meter.set_update_period(periods_s.empty() ? time.now_s() - begin_s : median(periods_s));
}

IdlePower measure_idle_power(EnergyMeter& meter, const std::function<double(double)>& wait,
                             const ReadCounters& counters) {
  constexpr int most_readings = 3;
  IdlePower quietest = read_idle_power(meter, wait, counters);
  for (int reading = 1; reading < most_readings && quietest.busy_processors > quiet_processors; ++reading) {
    const IdlePower again = read_idle_power(meter, wait, counters);
    if (again.busy_processors < quietest.busy_processors) quietest = again;
  }
  return quietest;
}

IdlePower idle_between(const IdlePower& before, const IdlePower& after) {
  const bool was_quiet = before.busy_processors <= quiet_processors;
  const bool is_quiet = after.busy_processors <= quiet_processors;
  IdlePower idle = was_quiet ? before : after;
  if (was_quiet == is_quiet) {
    idle.watts = (before.watts + after.watts) / 2;
    idle.uncertainty_w = std::max(before.uncertainty_w, after.uncertainty_w) + std::abs(after.watts - before.watts) / 2;
    idle.busy_processors = (before.busy_processors + after.busy_processors) / 2;
  }
  idle.before_w = before.watts;
  idle.after_w = after.watts;
  return idle;
}

bool has_stopped(const IdlePower& before, const IdlePower& after) {
  return before.watts > 0 && after.watts <= 0;
}

bool is_short_window(const EnergyMeterFacts& meter, double window_j, double window_s) {
  return window_j < fewest_resolutions * meter.resolution_j || window_s < fewest_resolutions * lag_s(meter);
}

void EnergySum::add(const EnergyMeterFacts& meter, double window_j, double window_s, double missed_j) {
  joules += window_j;
  seconds += window_s;
  uncertainty_j += window_uncertainty_j(meter, window_j, window_s) + missed_j;
  ++windows;
  still_s = window_j > 0 ? 0 : still_s + window_s;
  most_still_s = std::max(most_still_s, still_s);
  if (is_short_window(meter, window_j, window_s)) ++short_windows;
}

void EnergySum::add_load(const Counters& before, const Counters& after) {
  if (after.total_s <= before.total_s) return;
  busy_s += after.busy_s - before.busy_s;
  own_s += after.own_s - before.own_s;
}

double EnergySum::foreign_processors() const {
  return seconds > 0 ? std::max(busy_s - own_s, 0.0) / seconds : 0;
}

double EnergySum::power_of_processors_w(const EnergyMeterFacts& meter, double processors) const {
  const double busy = seconds > 0 ? std::max(busy_s, own_s) / seconds : 0;
  if (busy <= 0 || meter.reach == EnergyReach::gpu) return 0;
  return std::max(joules, 0.0) / seconds * std::abs(processors) / busy;
}

bool EnergySum::stood_still(const EnergyMeterFacts& meter) const {
  if (joules <= 0) return seconds > 2 * meter.update_period_s * std::max(windows, 1);
  const double moving_w = joules / (seconds - most_still_s);
  return most_still_s > fewest_resolutions * lag_s(meter) &&
         moving_w * most_still_s > fewest_resolutions * meter.resolution_j;
}

std::optional<std::string> meters_disagree(const EnergyMeterFacts& a, const EnergySum& sum_a, const EnergyMeterFacts& b,
                                           const EnergySum& sum_b) {
  const double slack_j = sum_a.uncertainty_j + sum_b.uncertainty_j;
  const double above_j = sum_a.joules - sum_b.joules;
  const double calibrated_j = slack_j + calibration * std::max(sum_a.joules, sum_b.joules);
  const bool same = a.reach == b.reach && a.reach != EnergyReach::other && a.scope == b.scope;
  if (same && std::abs(above_j) > calibrated_j)
    return fmt::format("{}, and {}: the same part", reading(a, sum_a), reading(b, sum_b));
  if (same || a.reach == b.reach) return std::nullopt;
  const bool a_in_b = is_within(a.reach, b.reach);
  if (!a_in_b && !is_within(b.reach, a.reach)) return std::nullopt;
  if ((a_in_b ? above_j : -above_j) <= calibrated_j) return std::nullopt;
  return a_in_b ? fmt::format("{}, but {}: more than the whole", reading(a, sum_a), reading(b, sum_b))
                : fmt::format("{}, but {}: more than the whole", reading(b, sum_b), reading(a, sum_a));
}

}  // namespace assay
