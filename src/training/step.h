#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "training/trainer.h"

namespace assay {

struct StepOptions {
  std::int64_t parts =
      1;  ///< Backward passes a step's rows are worked in, on each rank; above 1 the trainer adds gradients.
  std::uint64_t seed = 0;
  Group* group = nullptr;               ///< Whose ranks share the step's rows; the trainer has joined it.
  InterruptFlag interrupted = nullptr;  ///< In a group: where one rank's is set, all know it behind the step.
};

struct StepResult {
  double loss = 0;  ///< Mean over the labels that count, before the update.
  UpdateResult update;
  bool interrupted = false;  ///< On some rank of the group. The step is whole.
};

/// A training whose numbers are no longer finite. A user error: the learning rate, the data or the precision do that.
class Diverged : public Error {
 public:
  /// `step` counts from 1.
  Diverged(std::int64_t at_step, const std::string& what)
      : Error(ExitCode::user, fmt::format("training: step {}: {}", at_step, what)), step(at_step) {}
  std::int64_t step;
};

/// One step of training on the batch. With several parts the gradient is that of the whole batch, each part weighted by
/// its share of the labels that count; the ranks of a group have `parts` neighbours each. Dropout and rounding draw
/// from (seed, step), whatever the parts and ranks. Where the loss is not finite the update is left out. A batch in
/// which no label counts is a user error.
StepResult run_step(Trainer& trainer, const TrainingBatch& batch, std::int64_t step, const StepOptions& options);

}  // namespace assay
