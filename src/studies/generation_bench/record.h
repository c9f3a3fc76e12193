#pragma once

#include <vector>

#include "measure/sampling.h"
#include "measure/series.h"
#include "results/record.h"
#include "results/states.h"
#include "runtime/instance.h"
#include "studies/bench/group.h"
#include "studies/generation_bench/cell.h"
#include "studies/generation_bench/timed_generation.h"

namespace assay {

/// One precision in a cell, as it was sampled.
struct GeneratedSeries {
  const GenerationCell& cell;
  TimedGeneration* rows;  ///< Null where a peer generated.
  const Series& series;
  const Series& baseline;                            ///< Of the same phase and group.
  const std::vector<std::vector<double>>& token_ms;  ///< Of decoding: of each round's last run.
};

/// A record of the phase with what is known before it runs. `blank`: of the group's member.
Record blank_of(const Record& blank, const GenerationCell& cell, Mode mode);
/// What the plans know: memory with the cell's cache, work and bytes.
void record_plans(const BenchGroup& group, const Instance& instance, const GenerationCell& cell, TimedGeneration& rows,
                  Record& record);
/// Where a decoded token's time goes.
void record_parts(const TimedGeneration::TokenParts& parts, Record& record);
/// What was sampled. Times and energies of decoding are a token's.
void record_generated(const BenchGroup& group, const GeneratedSeries& generated, Record& record);

}  // namespace assay
