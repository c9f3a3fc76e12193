#pragma once

#include <cstdint>

#include "program/passes.h"
#include "studies/shared/engine.h"
#include "training/trainer.h"

namespace assay {

/// What of a model runs.
enum class RunMode : std::uint8_t {
  infer,  ///< One forward pass, weights constant.
  train   ///< Forward, backward and update, weights as state.
};
const char* name(RunMode mode);

/// A whole step with AdamW as `assay train` does it unless told otherwise.
TrainingOptions whole_step(const PrecisionChoice& precision, const EngineOptions& engine, Recompute recompute);

/// The batch with the labels that the model's loss wants: shifted for language models; the ids where none are given.
/// Throws a user error naming `file` where labels do not fit the model.
TrainingBatch training_batch(const Model& model, const TokenBatch& tokens, const std::string& file);

/// Uniform ids of the model's vocabulary; each position of a language model is to predict the next, each row of a
/// classifier gets a label in turn.
TrainingBatch random_batch(const Model& model, Extent extent, std::uint64_t seed);

}  // namespace assay
