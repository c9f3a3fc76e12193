#pragma once

#include <string>
#include <vector>

#include "base/interrupt.h"
#include "processes/group.h"
#include "results/document.h"
#include "studies/shared/engine.h"
#include "studies/shared/step_variant.h"
#include "training/programs.h"
#include "training/reducer.h"

namespace assay {

/// Steps of a training by several ranks, timed.
struct RankBenchmarkRequest {
  std::vector<std::string> models;
  std::vector<std::string> precisions = {"fp32"};
  std::vector<std::int64_t> batches = {4};  ///< Rows of a whole step; each rank has an equal part.
  std::vector<std::int64_t> seqs = {128};
  std::vector<ReduceFormat> formats;  ///< Empty: that of `reduce`.
  ReduceOptions reduce;
  ZeroStage stage = ZeroStage::none;
  std::int64_t warmup = 5;
  std::int64_t steps = 10;  ///< Timed.
  StepVariant step = {};    ///< On the whole of each rank's part at once.
  std::string device = "cpu";
  std::string overrides;
  ModelOptions model_options;
};

/// Every rank calls it; the document is whole on all. Between two steps of all ranks, rank 0 does the same step alone,
/// of its own rows and of all rows, while the others wait: efficiencies are ratios of neighbours in time. Rank 0 holds
/// a second copy of the training for that. `interrupted` of one rank ends the measurement of all; what was measured
/// until then is told. Throws user errors (SharedError where only some ranks have them).
Document rank_benchmark(const RankBenchmarkRequest& request, const MachineFacts& facts, Group& group,
                        InterruptFlag interrupted);

}  // namespace assay
