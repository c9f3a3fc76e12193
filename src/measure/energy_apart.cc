#include "measure/energy_apart.h"

#include <cmath>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "measure/meter_bank.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

constexpr double rounds_within_budget = 10;

bool is_interrupted(const SamplingOptions& options) {
  return is_set(options.interrupted);
}

void run_window(const Subject& subject, MeterBank& bank, const SamplingOptions& options, Series& series) {
  if (options.cool_down_s > 0) options.rest(options.cool_down_s);
  std::int64_t runs = 0;
  bank.begin();
  const double begin_s = options.clock.now_s();
  double window_s = 0;
  while (window_s < options.energy_window_s && !is_interrupted(options)) {
    if (!series.raw_inputs.empty())  // Those that were timed, in their order: joules are of the same work as times.
      subject.take(
          static_cast<std::size_t>(series.raw_inputs[static_cast<std::size_t>(runs) % series.raw_inputs.size()]));
    subject.run();
    ++runs;
    window_s = options.clock.now_s() - begin_s;
  }
  if (is_interrupted(options)) return;
  bank.end(window_s, runs, series);
  series.result_sum += subject.read_result();
}

/// Of the window that was added to `before`.
bool was_disturbed(const EnergySum& before, const Series& series, const SamplingOptions& options) {
  if (!series.energy || series.energy->runs <= before.runs) return false;
  const EnergySum& now = *series.energy;
  const double window_s = now.seconds - before.seconds;
  const double run_s = window_s / static_cast<double>(now.runs - before.runs);
  const double foreign_s = now.busy_s - before.busy_s - (now.own_s - before.own_s);
  return foreign_s > (options.usual_processors + quiet_processors) * window_s ||
         run_s > slow_window * median(series.raw_ms) * 1e-3;
}

void run_quiet_window(const Subject& subject, MeterBank& bank, const SamplingOptions& options, Series& series) {
  constexpr int most_repeats = 2;
  for (int repeat = 0; repeat <= most_repeats && !is_interrupted(options); ++repeat) {
    const SeriesMark mark(series);
    const EnergySum before = series.energy.value_or(EnergySum{});
    run_window(subject, bank, options, series);
    if (repeat == most_repeats || !was_disturbed(before, series, options)) return;
    mark.restore(series);
    ++series.energy_repeats;
  }
}

}  // namespace

void measure_energy_apart(std::span<const Subject> subjects, std::vector<Series>& series,
                          const SamplingOptions& options) {
  MeterBank bank(options);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (!series[i].raw_ms.empty()) order.push_back(i);
  }
  const std::vector<std::size_t> back(order.rbegin(), order.rend());
  order.insert(order.end(), back.begin(), back.end());
  for (std::size_t window = 0; window < order.size() && !is_interrupted(options); ++window) {
    const std::size_t i = order[window];
    const double share = static_cast<double>(window) / static_cast<double>(order.size());
    const double left_s = static_cast<double>(order.size() - window) * (options.energy_window_s + options.cool_down_s);
    if (options.progress) options.progress({"energy", subjects[i].name, share, left_s});
    run_quiet_window(subjects[i], bank, options, series[i]);
  }
  for (Series& one : series) bank.settle(one);
}

EnergyPlan plan_energy(const EnergyMeterFacts& meter, double power_w, double uncertainty, double seconds) {
  const double window_s =
      uncertainty > 0 ? window_for_s(meter, power_w, uncertainty) : shortest_window_s(meter, power_w);
  if (!std::isfinite(window_s)) {
    fail_user("{}: steps of {} W at {} W allow no energy within {} %", meter.name,
              format_significant(meter.power_step_w), format_significant(power_w),
              format_significant(100 * uncertainty));
  }
  return {window_s, window_s > seconds / rounds_within_budget ? EnergyPlan::apart : EnergyPlan::in_rounds};
}

}  // namespace assay
