#pragma once

#include <cstdint>
#include <vector>

#include "program/passes.h"
#include "studies/shared/engine.h"
#include "training/trainer.h"

namespace assay {

/// What of a model runs.
enum class RunMode : std::uint8_t {
  infer,    ///< One forward pass, weights constant.
  train,    ///< Forward, backward and update, weights as state.
  generate  ///< A prompt in pieces and tokens one by one, through a cache.
};
const char* name(RunMode mode);

/// A whole step with AdamW as `assay train` does it unless told otherwise.
TrainingOptions whole_step(const PrecisionChoice& precision, const EngineOptions& engine, Recompute recompute,
                           const TrainingStorage& storage = {});

/// The batch with the labels that the model's loss wants: shifted for language models; the ids where none are given.
/// Throws a user error naming `file` where labels do not fit the model.
TrainingBatch training_batch(const Model& model, const TokenBatch& tokens, const std::string& file);

/// What ids that mean nothing are to predict: the next one, of a masked language model themselves, of a classifier a
/// label each (row or token) in turn.
std::vector<std::int32_t> made_up_labels(const ModelConfig& config, const std::vector<std::int32_t>& ids,
                                         Extent extent);

/// Uniform ids of the model's vocabulary with made-up labels.
TrainingBatch random_batch(const Model& model, Extent extent, std::uint64_t seed);

}  // namespace assay
