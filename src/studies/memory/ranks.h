#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "studies/memory/run.h"
#include "training/reducer.h"

namespace assay {

/// What is held and sent by the rank that has most, of several that train one model, each on the cell's batch.
struct RankCell {
  MemoryCell cell;  ///< As one process has it.
  std::int64_t ranks = 1;
  ZeroStage stage = ZeroStage::none;
  std::int64_t gradient_bytes = 0;  ///< The most that lie in memory at once.
  std::int64_t optimizer_bytes = 0;
  std::int64_t exchange_bytes = 0;  ///< Buffers of what is under way.
  std::int64_t peak_bytes = 0;
  std::int64_t reduced_bytes = 0;  ///< Of gradients, sent in a step.
  std::int64_t buckets = 0;
  std::int64_t last_bucket_bytes = 0;  ///< Of them, what is sent when the backward has ended.
  std::int64_t handed_out_bytes = 0;   ///< Of updated parameters, sent by the rank that owns most.
  std::int64_t parameter_bytes = 0;
  std::int64_t sent_bytes() const { return reduced_bytes + handed_out_bytes; }

  double backward_share = 0;  ///< Of a step's floating-point operations.

  /// Of a step, as --step-ms and the link have it; see RankRequest.
  std::optional<double> direct_ms = {};
  std::optional<double> tree_ms = {};
  std::optional<double> exposed_ms = {};  ///< Of direct exchange.
};

/// Time that a step's exchange takes by itself, ms. Direct: every rank sends each bucket's shares to all others, and
/// sums back, message after message; tree: the levels of a reduction and those of a broadcast one after another.
struct ExchangeTime {
  double direct_ms = 0;
  double tree_ms = 0;
};
ExchangeTime exchange_time(std::int64_t bytes, std::int64_t buckets, std::int64_t ranks, const RankRequest& link);

/// Every predicted cell at every number of ranks in every stage.
std::vector<RankCell> rank_cells(const MemoryStudy& study, const Model& model, const MemoryRequest& request,
                                 const MachineFacts& facts);

Table rank_table(const std::vector<RankCell>& cells, const MemoryRequest& request);
/// What the times assume, one sentence each.
std::vector<std::string> rank_assumptions(const std::vector<RankCell>& cells, const MemoryRequest& request);

}  // namespace assay
