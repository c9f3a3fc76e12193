#pragma once

#include <optional>

#include "measure/series.h"

namespace assay {

/// Joules of one run (sequence, item of a phase), and what they come from.
struct EnergyOfOne {
  double joules = 0;
  double uncertainty_j = 0;  ///< By the meter.
  double seconds = 0;        ///< That it took.
  double slow_j = 0;         ///< That it may hold since it took longer than a sample.
};

/// Of a series whose energy was metered, with at least one run: a run's share in all windows over `batch`.
EnergyOfOne energy_of_one(const Series& series, double batch);

/// Each with a bound on how far it is from what one run alone draws on a machine that does nothing else. What others
/// drew in the windows may be in both; in the net as far as they did not draw it while idle power was read, too.
struct EnergyFigures {
  double gross_j = 0;
  double gross_bound_j = 0;
  std::optional<double> net_j{};  ///< Less idle power times time; absent without an idle power.
  std::optional<double> net_bound_j{};
};
/// `sum`: the windows that `one` is a part of.
EnergyFigures energy_figures(const EnergyOfOne& one, const EnergySum& sum, const EnergyMeterFacts& meter,
                             const std::optional<IdlePower>& idle);

}  // namespace assay
