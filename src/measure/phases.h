#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "measure/sampling.h"

namespace assay {

/// A step whose phases need one another's results, such as a forward and the backward that reads what it left. Each
/// phase returns when its device is idle.
struct PhasedSubject {
  std::string name;
  std::vector<std::function<void()>> phases;
  std::function<double()> read_result;  ///< As Subject's.
};

/// Series of one subject, by phase.
using PhaseSeries = std::vector<Series>;

/// Runs whole steps, the subjects interleaved in a new random order each round, and reads the clock around each phase
/// inside its step: no phase's time is a difference of two measurements. A step warms up until its whole time is
/// steady, at most for a fifth of the budget. Sampling ends after options.rounds rounds or when the budget is used up,
/// whichever comes first; a subject whose first step takes longer than options.most_first_run_s is not sampled.
/// Conditions are those of all rounds together. A window is one step, so that phases shorter than some 100 steps of the
/// clock are coarse; width, energy meter and least_window_s of the options are not used.
std::vector<PhaseSeries> sample_phases(std::span<const PhasedSubject> subjects, const SamplingOptions& options);

}  // namespace assay
