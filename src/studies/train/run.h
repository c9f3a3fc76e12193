#pragma once

#include <atomic>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "model/lora.h"
#include "quality/evaluate.h"
#include "studies/shared/engine.h"
#include "training/checkpoint.h"
#include "training/scale_shares.h"
#include "training/step.h"

namespace assay {

/// In the folder of a training: the checkpoint that did best on held-out data.
inline constexpr const char* best_folder_name = "best";

/// What becomes of an earlier training in the folder.
enum class Earlier : std::uint8_t { refused, resumed, overwritten };
/// How text becomes ids.
enum class Reading : std::uint8_t { tokenizer, bytes };

/// What a loss, or a gradient whose norm is taken, does that is not finite. Its update is left out either way.
/// Gradients that a dynamic loss scale made infinite are its own affair.
enum class OnNonfinite : std::uint8_t {
  stop,
  skip  ///< The training goes on with the next batch.
};

struct TrainRequest {
  std::string model;
  std::string precision = "fp32";
  std::filesystem::path tokens;  ///< One batch for every step, {"input_ids": ...}; or
  std::filesystem::path data;    ///< a text, or a .tsv or .jsonl of labelled sentences for a classifier.
  std::filesystem::path eval;    ///< Held out: of classifiers a .tsv or .jsonl, of language models a text.
  std::filesystem::path out;     ///< Where the training is kept; empty: nowhere.
  Reading reading = Reading::tokenizer;
  Earlier earlier = Earlier::refused;
  std::optional<LoraOptions> lora = std::nullopt;  ///< Fresh adapters are trained, and the model left as it is;
  std::filesystem::path lora_from;                 ///< or those of a folder. Empty: the model is trained.
  std::string base;                                ///< How what is left as it is is kept; empty: in `precision`.
  std::filesystem::path merge;                     ///< Where the model with its adapters added is put; empty: nowhere.
  std::filesystem::path optimizer_from;            ///< training/torch_state.h; empty: moments begin at zero.
  std::filesystem::path optimizer_to;              ///< Written at the end; empty: nowhere.
  std::int64_t labels = 0;                         ///< A fresh head of so many classes; 0: the model as it is.
  std::int64_t steps = 0;                          ///< 0: by epochs.
  std::int64_t epochs = 3;
  std::int64_t batch = 8;
  std::int64_t seq = 128;
  std::int64_t accumulate = 1;
  std::int64_t save_every = 0;     ///< Steps; 0: at the end only.
  std::int64_t eval_every = 0;     ///< Steps; 0: an epoch, where there are none a tenth of all steps.
  ReduceOptions reduce;            ///< Of several ranks.
  std::int64_t check_every = 100;  ///< Steps between two comparisons of the ranks' weights; 0: none.
  OnNonfinite nonfinite = OnNonfinite::stop;
  double warmup_share = 0;   ///< Of all steps; instead of a number of warm-up steps.
  TrainingOptions training;  ///< Its precision, dtypes and total steps are filled in.
  EngineOptions engine;
  ModelOptions model_options;  ///< Its seed is the one seed: weights, heads, order, windows, dropout, rounding.
};

/// What came of held-out data after some steps.
struct EvalScore {
  HeldOut held_out;
  Task task = Task::language_model;
  std::int64_t epoch = 0;  ///< From 1; 0 where scores are not by epoch.
  double seconds = 0;      ///< From the start of the run.
};

/// What the last step did, and where the run stands.
struct TrainStatus {
  std::int64_t steps = 0;  ///< Done, of earlier runs too.
  std::int64_t total = 0;
  StepResult last;
  std::int64_t skipped = 0;
  double tokens_per_s = 0;  ///< Real ones, over this run.
  double seconds_left = 0;
};

struct TrainCallbacks {
  std::function<void(const TrainStatus&)> step;
  std::function<void(const EvalScore&)> score;
  std::function<void(const std::string& sentence)> say;
  InterruptFlag interrupted = nullptr;  ///< Ends before the next update; what was trained until then is saved.
};

struct TrainReport {
  std::string data;            ///< In words.
  std::int64_t total = 0;      ///< Steps that were to be done.
  std::vector<double> losses;  ///< Before each update, those of earlier runs included; the last may be not finite.
  std::vector<double> gradient_norms;   ///< Of the steps of this run; NaN where the loss was not finite.
  std::vector<EvalScore> scores;        ///< Of this run.
  std::optional<QualityRows> held_out;  ///< Row by row, of the last of them.
  bool lacks_score = false;             ///< An interrupt ended one; who resumes makes it first.
  std::optional<HeldOut> best;          ///< Whose checkpoint stands in best/.
  std::int64_t skipped = 0;
  StateBytes held;                  ///< Through the whole training.
  std::vector<ScaleShares> scales;  ///< Of products of 8 bits, over the steps of this run.
  double seconds = 0;               ///< Of the steps of this run.
  double tokens_per_s = 0;
  int ranks = 1;
  std::string reduction;              ///< How gradients were summed over ranks.
  ReduceStatistics reduced;           ///< All steps of this run, on this rank.
  std::optional<std::int64_t> saved;  ///< Steps of the checkpoint that stands in the folder.
  /// What ended it before its end: Diverged, a save that failed, anything that a step throws. To be rethrown once the
  /// losses have been told.
  std::exception_ptr failure;
};

/// Trains. Everything that can be refused is refused before the first step, by what the parts throw; what fails
/// afterwards is in the report. A state that is not finite is never saved.
///
/// With a group each rank calls it with the same request, and all get the same report but for times; rank 0 alone
/// writes files. What one rank finds wrong all throw, as SharedError.
TrainReport train(const TrainRequest& request, const MachineFacts& facts, const TrainCallbacks& callbacks,
                  Group& group);
TrainReport train(const TrainRequest& request, const MachineFacts& facts, const TrainCallbacks& callbacks);
/// The same by `ranks` threads of this process, each a rank with its part of the processor's threads and memory; what
/// is told is rank 0's.
TrainReport train_as_threads(const TrainRequest& request, const MachineFacts& facts, const TrainCallbacks& callbacks,
                             int ranks);

}  // namespace assay
