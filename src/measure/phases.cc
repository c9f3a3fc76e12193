#include "measure/phases.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/random.h"

namespace assay {
namespace {

constexpr std::size_t most_warm_up_steps = 100;

class PhaseSampler {
 public:
  PhaseSampler(std::span<const PhasedSubject> subjects, const SamplingOptions& options)
      : subjects_(subjects), options_(options), random_(options.seed) {
    ASSAY_ASSERT(options.rounds > 0);
    for (const PhasedSubject& subject : subjects) series_.push_back(PhaseSeries(subject.phases.size()));
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      for (Series& series : series_[i]) series.name = subjects[i].name;
    }
  }

  std::vector<PhaseSeries> run() {
    for (std::size_t i = 0; i < subjects_.size() && !is_interrupted(); ++i) run_first(i);
    const double begin_s = options_.clock.now_s();
    for (const std::size_t i : sampled_) warm_up(i);
    const Counters before = read_counters(options_.root);
    run_rounds(begin_s + options_.seconds * static_cast<double>(sampled_.size()));
    add_conditions(before, read_counters(options_.root));
    return std::move(series_);
  }

 private:
  bool is_interrupted() const { return is_set(options_.interrupted); }

  void tell(const char* phase, std::size_t i, double share, double left_s) const {
    if (options_.progress) options_.progress({phase, subjects_[i].name, share, std::max(left_s, 0.0)});
  }

  /// Milliseconds of each phase of one step.
  std::vector<double> step(std::size_t i) {
    std::vector<double> times_ms;
    double last_s = options_.clock.now_s();
    for (const auto& phase : subjects_[i].phases) {
      phase();
      const double now_s = options_.clock.now_s();
      times_ms.push_back((now_s - last_s) * 1e3);
      last_s = now_s;
    }
    series_[i][0].result_sum += subjects_[i].read_result();
    return times_ms;
  }

  void run_first(std::size_t i) {
    tell("first run", i, 0, options_.seconds);
    const std::vector<double> times_ms = step(i);
    const bool slow = std::reduce(times_ms.begin(), times_ms.end()) > options_.most_first_run_s * 1e3;
    for (std::size_t phase = 0; phase < times_ms.size(); ++phase) {
      series_[i][phase].first_ms = times_ms[phase];
      if (slow) series_[i][phase].stopped_by = StoppedBy::too_slow;
    }
    if (!slow) sampled_.push_back(i);
  }

  void warm_up(std::size_t i) {
    const double end_s = options_.clock.now_s() + warm_up_share * options_.seconds;
    std::vector<double> steps_ms;
    bool steady = false;
    while (!steady && !is_interrupted() && steps_ms.size() < most_warm_up_steps && options_.clock.now_s() < end_s) {
      tell("warm-up", i, 0, options_.seconds);
      const std::vector<double> times_ms = step(i);
      for (std::size_t phase = 0; phase < times_ms.size(); ++phase)
        series_[i][phase].warm_up_ms.push_back(times_ms[phase]);
      steps_ms.push_back(std::reduce(times_ms.begin(), times_ms.end()));
      steady = is_steady(steps_ms);
    }
    for (Series& series : series_[i]) series.steady = steady;
  }

  void run_rounds(double end_s) {
    StoppedBy cause = StoppedBy::rounds;
    for (int round = 0; round < options_.rounds && cause == StoppedBy::rounds; ++round) {
      run_round(round, end_s);
      if (options_.clock.now_s() >= end_s && round + 1 < options_.rounds) cause = StoppedBy::budget;
      if (is_interrupted()) cause = StoppedBy::interrupted;
    }
    for (const std::size_t i : sampled_) {
      for (Series& series : series_[i]) series.stopped_by = cause;
    }
  }

  void run_round(int round, double end_s) {
    std::vector<std::size_t> order = sampled_;
    for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random_.below(left)]);
    for (const std::size_t i : order) {
      if (is_interrupted()) return;
      tell("sampling", i, static_cast<double>(round) / options_.rounds, end_s - options_.clock.now_s());
      const std::vector<double> times_ms = step(i);
      for (std::size_t phase = 0; phase < times_ms.size(); ++phase) add(series_[i][phase], times_ms[phase]);
    }
  }

  static void add(Series& series, double time_ms) {
    series.raw_ms.push_back(time_ms);
    series.timed_s += time_ms * 1e-3;
    ++series.timed_runs;
  }

  void add_conditions(const Counters& before, const Counters& after) {
    for (const std::size_t i : sampled_) {
      for (Series& series : series_[i]) series.conditions.add(before, after);
    }
  }

  std::span<const PhasedSubject> subjects_;
  const SamplingOptions& options_;
  Random random_;
  std::vector<PhaseSeries> series_;
  std::vector<std::size_t> sampled_;  ///< Subjects that take part in the rounds.
};

}  // namespace

std::vector<PhaseSeries> sample_phases(std::span<const PhasedSubject> subjects, const SamplingOptions& options) {
  return PhaseSampler(subjects, options).run();
}

}  // namespace assay
