#include "measure/energy_figures.h"

#include "statistics/statistics.h"

namespace assay {
namespace {

/// What one run may have drawn in the time by which it was slower than a sample: others were in its way then, whether
/// the kernel tells their load or not.
double slow_run_j(const Series& series, double run_s) {
  const EnergySum& sum = *series.energy;
  const double sample_s = series.raw_ms.empty() ? run_s : median(series.raw_ms) * 1e-3;
  return run_s > slow_window * sample_s ? (run_s - sample_s) * sum.joules / sum.seconds : 0;
}

}  // namespace

EnergyOfOne energy_of_one(const Series& series, double batch) {
  const EnergySum& sum = *series.energy;
  const auto runs = static_cast<double>(sum.runs);
  return {.joules = sum.joules / runs / batch,
          .uncertainty_j = sum.uncertainty_j / runs / batch,
          .seconds = sum.seconds / runs / batch,
          .slow_j = slow_run_j(series, sum.seconds / runs) / batch};
}

EnergyFigures energy_figures(const EnergyOfOne& one, const EnergySum& sum, const EnergyMeterFacts& meter,
                             const std::optional<IdlePower>& idle) {
  const double foreign = sum.foreign_processors();
  const double metered_j = one.uncertainty_j + one.slow_j;
  EnergyFigures figures{.gross_j = one.joules,
                        .gross_bound_j = metered_j + one.seconds * sum.power_of_processors_w(meter, foreign)};
  if (!idle) return figures;
  const double other_w = sum.power_of_processors_w(meter, foreign - idle->busy_processors);
  figures.net_j = one.joules - idle->watts * one.seconds;
  figures.net_bound_j = metered_j + one.seconds * (idle->uncertainty_w + other_w);
  return figures;
}

}  // namespace assay
