#pragma once

#include <vector>

#include "processes/group.h"
#include "results/document.h"
#include "studies/shared/surroundings.h"
#include "studies/train_benchmark/request.h"
#include "training/reducer.h"

namespace assay {

/// Steps of a training by several ranks, timed.
struct RankBenchmarkRequest {
  /// What one process would be asked for; of it whole steps, the first warm-up and no other programs. A batch is that
  /// of the whole step; each rank has an equal part, which it works at once.
  TrainBenchmarkRequest steps;
  StepVariant step = {};
  std::vector<ReduceFormat> formats;  ///< Empty: that of `reduce`.
  ReduceOptions reduce;
  ZeroStage stage = ZeroStage::none;
};

/// Every rank calls it; the document, with a judged record for each model, precision, shape and format, is rank 0's,
/// elsewhere it is empty. `facts`: of this rank; rank 0's may have measured peaks. `callbacks`: of rank 0 all, of
/// others the interrupt alone.
///
/// Beside each step of all ranks, in random order, rank 0 does the same step alone, of its own rows and of all rows,
/// and of all rows with the threads of all ranks of its machine, while the others sleep: efficiencies are ratios of
/// neighbours in time. Rank 0 holds further copies of the training for that; what memory lacks for the last one is said
/// and left out. `interrupted` of one rank ends the measurement of all; what was measured until then is told. Throws
/// user errors (SharedError where only some ranks have them).
Document rank_benchmark(const RankBenchmarkRequest& request, const MachineFacts& facts, Group& group,
                        const StudyCallbacks& callbacks);

}  // namespace assay
