#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/model.h"
#include "training/trainer.h"

namespace assay {

// A folder in which a training stands:
//
//   config.json, model.safetensors      the model as it is published: names, orientation, a tied weight once
//   tokenizer.json, vocab.txt, ...      as the model's folder has them
//   optimizer.safetensors               optimizer.m.<parameter>, optimizer.v.<parameter> as the trainer holds them
//   training.json                       {"format": ..., "steps", "updates", "loss_scale", "options", "losses"}
//
// It is written whole under another name beside it and the two are exchanged in one step, so that a whole folder stands
// there at any moment.

/// What goes on besides the trainer's state.
struct TrainingProgress {
  std::int64_t steps = 0;      ///< Done, skipped updates included.
  std::vector<double> losses;  ///< Of every step, before its update; NaN and infinities are kept.
  Json options;                ///< What the numbers depend on, by the names of the command's options; flat.
};

/// What a parameter is called in the checkpoint of a model: as in the file that it came from, else as published.
std::string checkpoint_name(const Model& model, const std::string& parameter);

/// The parameters of a state as weights: loads give f32 copies. `state` must outlive them.
Weights weights_of(const TrainingPrograms& programs, const State& state, const std::string& identity);

/// Throws a user error where `folder` cannot become such a folder: it is a file, holds something else, or its parent
/// refuses. Removes what interrupted writes of processes that no longer run have left beside it.
void check_training_folder(const std::filesystem::path& folder);
/// Whether a training stands there.
bool holds_training(const std::filesystem::path& folder);

/// Throws a user error naming the file that could not be written; what stood in `folder` stands there still.
void save_training(const std::filesystem::path& folder, const Model& model, Trainer& trainer,
                   const TrainingProgress& progress);

/// Restores parameters, moments, loss scale and updates, bit for bit. Throws a user error where the folder holds no
/// training, another model's, or one with other options than `options`: it names the first that differs.
TrainingProgress resume_training(const std::filesystem::path& folder, const Model& model, Trainer& trainer,
                                 const Json& options);

}  // namespace assay
