#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/rank_benchmark/request.h"
#include "tensor/ledger.h"

namespace assay {

/// Of one step on one rank, seconds.
struct RankStepTime {
  double forward_s = 0;
  double backward_s = 0;  ///< What is exposed of the communication is not in it.
  double exposed_s = 0;   ///< Communication in which nothing else was done.
  double hidden_s = 0;    ///< Communication behind the backward.
  double optimizer_s = 0;
  double step_s = 0;
};

/// One model, precision, shape and format.
struct RankBenchmarkRow {
  std::string model;
  std::string precision;
  Extent extent;  ///< Of the whole step.
  ReduceFormat format;
  int ranks = 1;
  std::int64_t steps = 0;        ///< Timed.
  RankStepTime median;           ///< Each figure: its median on the rank where that is largest.
  std::int64_t sent_bytes = 0;   ///< By the rank that sends most, a step.
  double alone_part_s = 0;       ///< Rank 0's own rows, alone; median.
  double alone_whole_s = 0;      ///< All rows on rank 0 alone; median.
  std::optional<double> step_j;  ///< All machines together; absent where one of them has no meter.
  std::string energy_status;
  LedgerRow reduction;

  double weak_efficiency() const { return alone_part_s / median.step_s; }
  double speed_up() const { return alone_whole_s / median.step_s; }
  double strong_efficiency() const { return speed_up() / ranks; }
  double exposed_share() const { return median.exposed_s / median.step_s; }
};

std::vector<RankBenchmarkRow> rank_benchmark_rows(const RankBenchmarkRequest& request, const MachineFacts& facts,
                                                  Group& group, InterruptFlag interrupted);

/// What a reduction is in a ledger.
LedgerRow ledger_row(const GradientReducer& reducer, const ReduceFormat& format, const std::string& precision);

}  // namespace assay
