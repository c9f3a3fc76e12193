#pragma once

#include <span>
#include <vector>

#include "measure/sampling.h"

namespace assay {

/// Windows for energy alone, for a meter too slow for the windows of the rounds: each subject that has samples runs
/// again and again for options.energy_window_s, twice, in the order A B B A, after options.cool_down_s of rest before
/// each. Their energy is that of the series; their times are no samples. A window in which others were busier than
/// usual, or whose runs took a tenth longer than the samples' median, is left out and run again, twice at most.
void measure_energy_apart(std::span<const Subject> subjects, std::vector<Series>& series,
                          const SamplingOptions& options);

/// Windows so long that the reading is as sure as asked.
struct EnergyPlan {
  double window_s = 0;
  enum Where : std::uint8_t { in_rounds, apart } where = in_rounds;
};
/// By `uncertainty` (a share; 0: fewest_resolutions of the meter's steps and updates) at `power_w`, the least that will
/// be drawn. Apart where ten windows so long would not fit into `seconds`. Throws a user error where the meter cannot
/// be as sure however long the window is.
EnergyPlan plan_energy(const EnergyMeterFacts& meter, double power_w, double uncertainty, double seconds);

}  // namespace assay
