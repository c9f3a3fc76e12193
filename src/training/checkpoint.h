#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/model.h"
#include "model/published_files.h"
#include "training/folder.h"
#include "training/trainer.h"

namespace assay {

// A folder in which a training stands:
//
//   config.json, model.safetensors      the model as it is published: names, orientation, a tied weight once
//   tokenizer.json, vocab.txt, ...      as the model's folder has them
//   optimizer.safetensors               optimizer.m.<parameter>, .v., .m_scale., .v_scale., and the histories of scales
//                                       (optimizer.float8.*), as the trainer holds them
//   training.json                       {"format": ..., "steps", "updates", "updates_before", "loss_scale", "options",
//                                       "losses", "held_out": [{"step", "correct", "of", "mean_loss"}],
//                                       "held_out_data"}
//   adapter_config.json, adapter_model.safetensors
//                                       of a training of adapters, in the place of config.json, model.safetensors and
//                                       the tokenizer: PEFT's layout (model/lora.h)
//   manifest.json                       what each of those files was when it was written (manifest.h)
//
// folder.h says how they come there so that a whole checkpoint stands there at any moment.

/// What a model came to on data that it is not trained on.
struct HeldOut {
  std::int64_t steps = 0;  ///< Of the training until then.
  std::int64_t correct = 0;
  std::int64_t of = 0;   ///< Tokens or sentences that were scored.
  double mean_loss = 0;  ///< Nats; finite.
};

/// What goes on besides the trainer's state.
struct TrainingProgress {
  std::int64_t steps = 0;              ///< Done, skipped updates included.
  std::int64_t updates_before = 0;     ///< Of the optimizer's state with which the training began.
  std::vector<double> losses;          ///< Of every step, before its update; NaN and infinities are kept.
  Json options;                        ///< What the numbers depend on, by the names of the command's options; flat.
  std::vector<HeldOut> held_out = {};  ///< In the order of their steps.
  std::string held_out_data = {};      ///< sha256 of what they are scores of.
};

/// The parameters of a state as weights: loads give f32 copies; what is not trained as `base` has it. `state` must
/// outlive them.
Weights weights_of(const TrainingPrograms& programs, const State& state, const std::string& identity,
                   const Weights& base = {});

/// The first parameter or moment, by its name in a checkpoint, that holds NaN or an infinity.
std::optional<std::string> nonfinite_tensor(const Model& model, const Trainer& trainer);

/// Throws an error naming the file that could not be written, or the tensor that is not finite; what stood in the
/// folder stands there still.
/// `elsewhere`: moments that other ranks hold (Trainer::gather_moments).
void save_training(TrainingFolder& folder, const Model& model, Trainer& trainer, const TrainingProgress& progress,
                   const std::map<std::string, Tensor>& elsewhere = {});

/// Restores parameters, moments, loss scale and updates, bit for bit, after everything was checked: each file against
/// the manifest, every tensor against the model. A folder of before there were manifests is checked as far as it can
/// be, and `notes` gains a sentence. Of moments that other ranks hold none is restored here. Throws a user error naming
/// the file and what is wrong with it where the folder holds no training, a damaged one, another model's, or one with
/// other options than `options`: the first that differs.
TrainingProgress resume_training(const std::filesystem::path& folder, const Model& model, Trainer& trainer,
                                 const Json& options, std::vector<std::string>& notes);

}  // namespace assay
