#pragma once

#include <vector>

#include "runtime/plan.h"

namespace assay {

/// Runs the plan with the clock read around every operation: the median of each, in ms. It is run three times, or as
/// often as fits into `most_s`, once at least: what tells operations apart needs no interval.
std::vector<double> trace_operations(Plan& plan, double most_s);

}  // namespace assay
