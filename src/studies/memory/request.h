#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "results/document.h"
#include "studies/shared/training_step.h"

namespace assay {

enum class Measure : std::uint8_t { no, yes };

struct MemoryRequest {
  std::string model;
  std::vector<std::string> precisions;     ///< Empty: every row listed on the device; in training those that can train.
  std::vector<std::int64_t> seqs = {128};  ///< Tokens a row; of generation those that the cache has room for.
  std::int64_t batch = 1;
  RunMode mode = RunMode::infer;
  std::vector<Recompute> recomputes;             ///< Training; empty: all of them.
  std::vector<TrainingStorage> storages = {{}};  ///< Training.
  Measure measure = Measure::no;
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
