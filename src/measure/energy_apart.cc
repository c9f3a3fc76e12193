#include "measure/energy_apart.h"

#include <cmath>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "measure/meter_bank.h"

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
    run_window(subjects[i], bank, options, series[i]);
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
