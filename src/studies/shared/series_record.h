#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "measure/sampling.h"
#include "results/record.h"
#include "studies/shared/energy_record.h"

namespace assay {

/// What a series is read beside.
struct SeriesContext {
  const Series& baseline;  ///< Of the same group; no baseline where it is not named so.
  const Power& power;
  std::uint64_t seed = 0;                 ///< Of the bootstrap.
  double asked_width = 0;                 ///< Of the median's interval; 0: none was asked.
  std::optional<double> prepare_ms = {};  ///< What came before the first run.
};
/// Latency, circumstances, energy and speed-up over the baseline's series, round by round; the outcome where there are
/// no samples, and the rates.
void record_series(const Series& series, const SeriesContext& context, Record& record);

}  // namespace assay
