#include "measure/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "measure/energy_apart.h"
#include "measure/meter_bank.h"

namespace assay {
namespace {

constexpr std::size_t warm_up_group = 3;
constexpr double steady_change = 0.05;
/// Where the rule is never met, warm-up ends at its share of the budget or after so many runs.
constexpr std::size_t most_warm_up_runs = 1000;
/// A window lasts this many steps of the clock, so that reading it wrong by one is 0.1 %.
constexpr double clock_steps_a_window = 1000;
/// Runs of a window may be a little faster than those of warm-up, by which they are counted.
constexpr double window_slack = 1.1;
/// Another subject's weights have just gone through the caches: runs shorter than this get one untimed run before each
/// window. For longer ones, refilling the caches (some 10 ms from memory) is part of what a user sees anyway.
constexpr double lead_in_below_s = 0.1;
/// Below this many rounds an interval may look narrow by luck.
constexpr std::size_t fewest_rounds = 10;
constexpr double seconds_between_slow_readings = 0.5;

class Sampler {
 public:
  Sampler(std::span<const Subject> subjects, const SamplingOptions& options)
      : subjects_(subjects),
        options_(options),
        random_(options.seed),
        draws_(options.draw_seed, 1),
        series_(subjects.size()),
        seconds_(options.seconds),
        meters_(options) {
    for (std::size_t i = 0; i < subjects.size(); ++i) series_[i].name = subjects[i].name;
    slow_reading_s_.resize(subjects.size(), -seconds_between_slow_readings);
  }

  std::vector<Series> run() {
    run_first();
    begin_s_ = options_.clock.now_s();
    for (const std::size_t i : sampled_) warm_up(i);
    if (options_.seconds_after_start) seconds_ = options_.seconds_after_start(start());
    rounds_begin_s_ = options_.clock.now_s();
    StoppedBy cause = StoppedBy::interrupted;
    while (!sampled_.empty() && !(is_interrupted() || is_finished(cause))) run_round();
    settle(is_interrupted() ? StoppedBy::interrupted : cause);
    return std::move(series_);
  }

 private:
  bool is_interrupted() const { return is_set(options_.interrupted); }
  bool is_dropped() const { return is_interrupted() && options_.interrupted_window == InterruptedWindow::dropped; }
  bool is_lost(std::size_t i) const { return subjects_[i].is_lost && subjects_[i].is_lost(); }
  double budget_s() const { return seconds_ * static_cast<double>(std::max<std::size_t>(sampled_.size(), 1)); }
  double spent_s() const { return begin_s_ ? options_.clock.now_s() - *begin_s_ : 0.0; }

  void tell(const char* phase, std::size_t i) const {
    if (!options_.progress) return;
    double share = spent_s() / budget_s();
    double left = budget_s() - spent_s();
    if (options_.rounds > 0) {
      share = static_cast<double>(rounds_) / options_.rounds;
      left = rounds_ == 0 ? left : (options_.clock.now_s() - rounds_begin_s_) * (1 / share - 1);
    }
    options_.progress({phase, subjects_[i].name, std::clamp(share, 0.0, 1.0), std::max(left, 0.0)});
  }

  double timed_s(const Subject& subject, int repetitions) const {
    if (subject.last_run_s) return own_time_s(subject, repetitions);
    const double begin = options_.clock.now_s();
    for (int i = 0; i < repetitions; ++i) subject.run();
    return options_.clock.now_s() - begin;
  }

  static double own_time_s(const Subject& subject, int repetitions) {
    double sum_s = 0;
    for (int i = 0; i < repetitions; ++i) {
      subject.run();
      sum_s += subject.last_run_s();
    }
    return sum_s;
  }

  double window_s(const Subject& subject, int repetitions) const {
    if (!options_.before_run) return timed_s(subject, repetitions);
    double sum = 0;
    for (int i = 0; i < repetitions; ++i) {
      options_.before_run();
      sum += timed_s(subject, 1);
    }
    return sum;
  }

  /// A permutation of the inputs is as fair to each, and its median is surer than that of independent draws.
  std::size_t draw() {
    if (drawn_ == deck_.size()) {
      deck_.resize(options_.inputs);
      std::iota(deck_.begin(), deck_.end(), std::size_t{0});
      shuffle(deck_, draws_);
      drawn_ = 0;
    }
    return deck_[drawn_++];
  }

  static void shuffle(std::vector<std::size_t>& order, Random& random) {
    for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random.below(left)]);
  }

  void take(std::size_t i, std::size_t input) const {
    if (options_.inputs > 0) subjects_[i].take(input);
  }

  void run_first() {
    for (std::size_t i = 0; i < subjects_.size() && !is_interrupted(); ++i) {
      tell("first run", i);
      take(i, options_.warm_up_input);
      const double first_s = timed_s(subjects_[i], 1);
      if (is_dropped()) return;
      if (is_lost(i)) continue;
      series_[i].first_ms = first_s * 1e3;
      series_[i].result_sum += subjects_[i].read_result();
      if (first_s > options_.most_first_run_s) {
        series_[i].stopped_by = StoppedBy::too_slow;
      } else {
        sampled_.push_back(i);
      }
    }
  }

  SamplingStart start() const {
    SamplingStart start;
    for (const Series& series : series_) start.first_runs_s += series.first_ms.value_or(0) * 1e-3;
    for (const std::size_t i : sampled_) start.round_s += warm_run_s(i);
    start.warm_up_s = spent_s();
    return start;
  }

  void warm_up(std::size_t i) {
    Series& series = series_[i];
    const double end_s = options_.clock.now_s() + warm_up_share * seconds_;
    while (!series.steady && !is_interrupted()) {
      tell("warm-up", i);
      const double run_s = timed_s(subjects_[i], 1);
      if (is_dropped() || is_lost(i)) return;
      series.warm_up_ms.push_back(run_s * 1e3);
      series.result_sum += subjects_[i].read_result();
      series.steady = is_steady(series.warm_up_ms);
      if (options_.clock.now_s() >= end_s || series.warm_up_ms.size() >= most_warm_up_runs) break;
    }
    choose_repetitions(i);
  }

  double warm_run_s(std::size_t i) const {
    const std::vector<double>& ms = series_[i].warm_up_ms;
    const std::size_t last = std::min(ms.size(), warm_up_group);
    return last == 0 ? 0.0 : median(std::span(ms).last(last)) * 1e-3;
  }

  void choose_repetitions(std::size_t i) {
    const double window_s =
        std::max(clock_steps_a_window * options_.clock.resolution_s, window_slack * options_.least_window_s);
    const double run_s = std::max(warm_run_s(i), options_.clock.resolution_s);
    if (run_s > 0) series_[i].repetitions = static_cast<int>(std::clamp(std::ceil(window_s / run_s), 1.0, 1e6));
  }

  void run_round() {
    if (!options_.gpu || !may_leave_out(throttled_rounds_, rounds_)) return run_counted_round();
    const std::vector<SeriesMark> before(series_.begin(), series_.end());
    is_throttled_ = false;
    run_counted_round();
    if (!is_throttled_ || is_interrupted()) return;
    for (std::size_t i = 0; i < series_.size(); ++i) before[i].restore(series_[i]);
    --rounds_;
    ++throttled_rounds_;
  }

  void run_counted_round() {
    std::vector<std::size_t> order = sampled_;
    shuffle(order, random_);
    if (options_.inputs > 0) input_ = draw();
    for (const std::size_t i : order) {
      if (is_interrupted()) return;
      tell("sampling", i);
      take(i, input_);
      run_window(i);
    }
    std::erase_if(sampled_, [this](std::size_t i) { return is_lost(i); });
    ++rounds_;
  }

  void run_window(std::size_t i) {
    const Subject& subject = subjects_[i];
    Series& series = series_[i];
    if (is_lost(i)) return;
    if (warm_run_s(i) < lead_in_below_s) subject.run();
    const bool is_metered = options_.energy_window_s <= 0 && !options_.before_run;
    read_throttling(series);
    const Counters before = read_counters(options_);
    if (is_metered) meters_.begin();
    const double begin_s = subject.last_run_s ? options_.clock.now_s() : 0;
    const double taken_s = window_s(subject, series.repetitions);
    if (is_dropped() || is_lost(i)) return;
    const double metered_s = subject.last_run_s ? options_.clock.now_s() - begin_s : taken_s;
    if (is_metered) meters_.end(metered_s, series.repetitions, series);
    const Counters after = read_counters(options_);
    read_gpu(series);
    series.timed_s += taken_s;
    series.timed_runs += series.repetitions;
    series.result_sum += subject.read_result();
    series.conditions.add(before, after);
    series.raw_ms.push_back(taken_s * 1e3 / series.repetitions);
    if (options_.inputs > 0) series.raw_inputs.push_back(static_cast<double>(input_));
    time_on_device(subject, series);
    read_slow_conditions(i);
  }

  void time_on_device(const Subject& subject, Series& series) const {
    if (!subject.time_on_device) return;
    if (options_.before_run) options_.before_run();
    const std::optional<DeviceTime> time = subject.time_on_device();
    if (!time || !time->enqueue_s) return;  // Else it would hold waits for the host.
    series.device_ms.push_back(time->device_s * 1e3);
    series.enqueue_ms.push_back(*time->enqueue_s * 1e3);
  }

  GpuConditions read_throttling(Series& series) {
    const GpuConditions now = options_.gpu ? options_.gpu() : GpuConditions{};
    is_throttled_ = is_throttled_ || is_throttled(now.throttle_reasons);
    series.conditions.throttle_reasons |= now.throttle_reasons;
    return now;
  }

  /// A GPU's clock and temperature in the place of the processors'.
  void read_gpu(Series& series) {
    if (!options_.gpu) return;
    const GpuConditions now = read_throttling(series);
    Conditions& conditions = series.conditions;
    conditions.frequency_after_mhz = now.clock_mhz;
    conditions.temperature_after_c = now.temperature_c;
    if (!series.raw_ms.empty()) return;
    conditions.frequency_before_mhz = now.clock_mhz;
    conditions.temperature_before_c = now.temperature_c;
  }

  /// Frequency and temperature cost many file reads: after the first window, then at this interval.
  void read_slow_conditions(std::size_t i) {
    const double now = now_s();
    if (options_.gpu || now - slow_reading_s_[i] < seconds_between_slow_readings) return;
    slow_reading_s_[i] = now;
    Conditions& conditions = series_[i].conditions;
    conditions.frequency_after_mhz = read_frequency_mhz(options_.root);
    conditions.temperature_after_c = read_temperature_c(options_.root);
    if (series_[i].raw_ms.size() > 1) return;
    conditions.frequency_before_mhz = conditions.frequency_after_mhz;
    conditions.temperature_before_c = conditions.temperature_after_c;
  }

  /// Sorting all samples after each round would cost more than short subjects do; looking again only after 5 % more
  /// rounds also leaves fewer chances to stop at an interval that is narrow by luck.
  bool is_time_to_look() {
    if (rounds_ < next_look_) return false;
    next_look_ = rounds_ + 1 + rounds_ / 20;
    return true;
  }

  bool all_narrow() const {
    return std::all_of(sampled_.begin(), sampled_.end(), [&](std::size_t i) { return is_narrow(series_[i]); });
  }

  bool is_narrow(const Series& series) const {
    if (series.raw_ms.size() < fewest_rounds) return false;
    const auto summary = summarise(series.raw_ms);
    return summary->interval && summary->interval->high - summary->interval->low <= options_.width * summary->median;
  }

  /// Says in `cause` why, where it is.
  bool is_finished(StoppedBy& cause) {
    if (options_.rounds > 0) {
      cause = StoppedBy::rounds;
      return rounds_ >= options_.rounds;
    }
    cause = StoppedBy::width;
    if (is_time_to_look() && all_narrow()) return true;
    cause = StoppedBy::budget;
    return rounds_ >= options_.least_rounds && spent_s() >= budget_s();
  }

  void settle(StoppedBy cause) {
    for (Series& series : series_) {
      meters_.settle(series);
      series.throttled_rounds = throttled_rounds_;
    }
    for (const std::size_t i : sampled_) {
      const bool by_width = cause == StoppedBy::budget && is_narrow(series_[i]);
      series_[i].stopped_by = by_width ? StoppedBy::width : cause;
    }
  }

  std::span<const Subject> subjects_;
  const SamplingOptions& options_;
  Random random_;
  Random draws_;
  std::vector<std::size_t> deck_ = {};  ///< Inputs in the order in which they are drawn.
  std::size_t drawn_ = 0;               ///< Of the deck.
  std::size_t input_ = 0;               ///< Of the round at hand.
  std::vector<Series> series_;
  std::vector<std::size_t> sampled_;    ///< Indices of the subjects that take part in the rounds.
  std::vector<double> slow_reading_s_;  ///< When each subject's frequency was last read.
  double seconds_;                      ///< Budget for each subject.
  std::optional<double> begin_s_;       ///< After the first runs.
  double rounds_begin_s_ = 0;
  MeterBank meters_;
  int rounds_ = 0;
  int throttled_rounds_ = 0;
  bool is_throttled_ = false;  ///< In the round at hand.
  int next_look_ = static_cast<int>(fewest_rounds);
};

}  // namespace

Clock monotonic_clock() {
  // The smallest difference between successive readings: the step, or what reading costs where that is longer.
  double step_s = std::numeric_limits<double>::infinity();
  double last_s = now_s();
  for (int i = 0; i < 200; ++i) {
    const double next_s = now_s();
    if (next_s > last_s) step_s = std::min(step_s, next_s - last_s);
    last_s = next_s;
  }
  return {now_s, std::isfinite(step_s) ? step_s : 1e-6};
}

Counters read_counters(const SamplingOptions& options) {
  return options.counters ? options.counters() : read_counters(options.root);
}

bool is_steady(std::span<const double> warm_up_ms) {
  if (warm_up_ms.size() < 2 * warm_up_group) return false;
  const double latest = median(warm_up_ms.last(warm_up_group));
  const double before = median(warm_up_ms.last(2 * warm_up_group).first(warm_up_group));
  return std::abs(latest - before) <= steady_change * before;
}

std::vector<Series> sample(std::span<const Subject> subjects, const SamplingOptions& options) {
  std::vector<Series> series = Sampler(subjects, options).run();
  if (options.energy_window_s > 0) measure_energy_apart(subjects, series, options);
  return series;
}

}  // namespace assay
