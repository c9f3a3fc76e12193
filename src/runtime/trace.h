#pragma once

#include <span>

#include "runtime/plan.h"

namespace assay {

/// When a step of a plan ran, in seconds of base/clock.h.
struct StepTime {
  double begin_s = 0;
  double end_s = 0;

  double ms() const { return (end_s - begin_s) * 1e3; }
};

/// Runs the plan as Plan::run does, with the clock read before and after each step; `times` has a place for each of
/// plan.steps(). Each step begins when the one before has ended, all threads.
void run_traced(const Plan& plan, std::span<StepTime> times);

/// What one reading of the clock takes, in seconds: the median of many.
double clock_cost_s();

}  // namespace assay
