#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "studies/rank_benchmark/neighbours.h"
#include "studies/rank_benchmark/request.h"
#include "studies/shared/energy_record.h"
#include "studies/shared/hindrance.h"
#include "studies/train_benchmark/cell.h"

namespace assay {

/// One row's model, precision, shape and format, and where it is measured.
struct RankCase {
  const Model& model;
  const RankBenchmarkRequest& request;
  const MachineFacts& facts;
  const StudyCallbacks& callbacks;
  Group& group;
  const Neighbours& neighbours;
  Power& power;  ///< Of the machine; a rank that does not read it has none.
  std::string precision;
  Extent extent;  ///< Of the whole step.
  ReduceFormat format;
};

/// One step on one rank, seconds.
struct RankStep {
  double forward_s = 0;
  double backward_s = 0;  ///< What is exposed of the communication is not in it.
  double exposed_s = 0;   ///< Communication in which nothing else was done.
  double hidden_s = 0;    ///< Communication behind the backward.
  double optimizer_s = 0;
  double step_s = 0;
  double own_s = 0;  ///< Processor seconds of the process,
  std::int64_t page_faults = 0;
  std::int64_t major_page_faults = 0;
  std::int64_t sent_bytes = 0;
  bool is_finite = true;  ///< Its loss.
};

/// What rank 0 took alone beside one step of all, ms.
struct AloneRound {
  double part_ms = 0;
  double whole_ms = 0;
  std::optional<double> one_process_ms = {};
};

/// What was measured of one row.
struct RankRounds {
  Variant variant;                ///< Its samples are of the slowest rank, with this machine's meter and counters.
  std::vector<RankStep> slowest;  ///< Of each step every figure where it is largest, the warm-up included.
  std::vector<AloneRound> alone;  ///< On rank 0, as many.
  std::string words = {};         ///< Why rank 0 was no process with all threads, where it could have been; else empty.
  LedgerRow reduction;
};

/// Every rank calls it. A row that memory or this machine lacks something for on any rank has its status and reason,
/// alike on all.
RankRounds measure_rounds(const RankCase& one);

/// Whether one of the ranks is. Every rank calls it.
bool any_interrupted(Group& group, InterruptFlag interrupted);

/// A step of the batch that is set, by clock readings between its phases.
RankStep timed_step(Trainer& trainer, double share, std::int64_t step);

}  // namespace assay
