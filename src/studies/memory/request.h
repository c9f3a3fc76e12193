#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "results/document.h"
#include "studies/shared/shard.h"
#include "studies/shared/training_step.h"
#include "training/reducer.h"

namespace assay {

enum class Measure : std::uint8_t { no, yes };

/// Training by several ranks: what each holds and, with step_ms, how long a step would take.
struct RankRequest {
  std::vector<std::int64_t> counts;  ///< Empty: not asked.
  ReduceOptions reduce;
  std::optional<double> step_ms;  ///< Of one rank alone, on its rows.
  double bandwidth_gb_s = 12.5;   ///< That each rank sends with; 100 Gbit/s.
  double latency_us = 5;          ///< Of a message.
};

struct MemoryRequest {
  std::string model;
  std::vector<std::string> precisions;     ///< Empty: every row listed on the device; in training those that can train.
  std::vector<std::int64_t> seqs = {128};  ///< Tokens a row; of generation those that the cache has room for.
  std::int64_t batch = 1;
  RunMode mode = RunMode::infer;
  StepAxes step = {};  ///< Training; no list of what is computed again: all ways.
  Measure measure = Measure::no;
  GridDivision division;            ///< Among processes and machines, of all models' cells.
  std::optional<IndexRange> cells;  ///< Of the model, by number; absent: all.
  RankRequest ranks;
  EngineOptions engine;
  ModelOptions model_options;
};

using MemoryProgress = std::function<void(const std::string& what)>;

/// Predicts every cell (precision, sequence length, recomputation) from layouts, no weight read and no buffer
/// allocated; with Measure::yes those that fit then run one after another in processes of their own. Throws user
/// errors for what does not exist before anything else.
Document memory(const MemoryRequest& request, const MachineFacts& facts, const MemoryProgress& progress = {});
/// Likewise of each of `models`, one or more, in place of the request's: one document.
Document memory(const std::vector<std::string>& models, const MemoryRequest& request, const MachineFacts& facts,
                const MemoryProgress& progress = {});

}  // namespace assay
