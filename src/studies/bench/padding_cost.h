#pragma once

#include <optional>

#include "measure/sampling.h"
#include "statistics/statistics.h"
#include "studies/bench/timed_pass.h"

namespace assay {

/// The same batches at their full length over those that `pass` runs, time by time, interleaved: what it would cost not
/// to skip padding. Absent where next to none was skipped, and where memory has no room for another plan. `options`: as
/// for the cell, with what this may take.
std::optional<Ratio> padding_cost(TimedPass& pass, Instance& instance, const CellInputs& inputs,
                                  const SamplingOptions& options);

}  // namespace assay
