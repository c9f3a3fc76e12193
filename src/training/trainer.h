#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "model/weights.h"
#include "processes/group.h"
#include "runtime/plan.h"
#include "training/programs.h"
#include "training/reducer.h"

namespace assay {

/// What one forward and backward work on.
struct TrainingBatch {
  Extent extent = {};
  std::vector<std::int32_t> input_ids;         ///< (B, T)
  std::vector<std::uint8_t> attention_mask;    ///< (B, T), or empty: all real
  std::vector<std::int32_t> labels;            ///< (B, T): what each position is to predict; classification: (B)
  std::vector<std::int32_t> token_types = {};  ///< (B, T), or empty: all 0
  std::int64_t first_row = 0;                  ///< Of a part: its first row's place in the step.
};

/// Labels as the loss wants them: position t is to predict label t + 1 of its row, the last position nothing.
std::vector<std::int32_t> shifted_labels(std::span<const std::int32_t> labels, Extent extent);

/// What an update did.
struct UpdateResult {
  /// Over all parameters, before clipping, without the loss scale; may be infinite or NaN. Absent where the options
  /// take none.
  std::optional<double> gradient_norm;
  double loss_scale = 1;     ///< With which the gradients were made.
  bool skipped = false;      ///< The loss or the gradients, where their norm is taken, were not finite.
  double learning_rate = 0;  ///< Of parameters whose role has none of its own.
  std::int64_t lost = 0;     ///< Elements whose update was not zero and rounded to nothing; counted where asked for.
};

/// A step that was ended before its update: the parameters are what they were.
class StepInterrupted : public Error {
 public:
  StepInterrupted() : Error(ExitCode::interrupted, "training: interrupted within a step") {}
};

/// Whether a backward is a step's last.
enum class StepEnd : std::uint8_t { no, yes };

/// A model's parameters in training: state, and the three segments of a step over it.
class Trainer {
 public:
  /// `backend` and `facts` must outlive the trainer, `weights` the constructor alone, but for a model with adapters:
  /// what is frozen is read when a plan first asks for it. Throws OutOfMemory before anything
  /// is allocated where parameters, gradients and moments would not fit.
  Trainer(const ModelConfig& config, const Weights& weights, const TrainingOptions& options, const Backend& backend,
          const MachineFacts& facts);

  /// Makes the plan for the batch's shape ready (the last few are kept) and copies its inputs. Throws OutOfMemory.
  void set_batch(const TrainingBatch& batch);
  /// forward() and backward() look at it between two operations, and throw StepInterrupted where it is set.
  void end_at(InterruptFlag interrupted) { interrupted_ = interrupted; }
  /// What the random numbers of the next forward, backward and update are made from.
  void set_seed(std::uint64_t seed);
  /// Runs the forward; its mean loss.
  double forward();
  /// Runs the backward of the last forward. `share`: of the step's loss that this batch is; 1 / batches a step. In a
  /// group the last one of a step also sums the gradients over its ranks.
  void backward(double share = 1, StepEnd end = StepEnd::yes);
  /// From now on this is one rank's trainer of several that train one model: each has its part of a step's rows, and
  /// the gradients of all are summed. `group` outlives it. `sums`: what does it where gradients lie, on a device; the
  /// format's wire has their dtype then.
  void join(Group& group, const ReduceOptions& options, std::unique_ptr<DeviceSums> sums = nullptr);
  /// In a group, instead of all backwards: this rank has no row in the step, or none that counts. `seed`: as set_seed.
  void give_nothing(std::uint64_t seed);
  /// Of the last step's reduction; null without a group.
  const GradientReducer* reducer() const { return reducer_.get(); }
  /// On rank 0 the moments that other ranks hold, by name; elsewhere, and where every rank holds all, nothing. Every
  /// rank calls it.
  std::map<std::string, Tensor> gather_moments() const;
  /// Bytes that this rank sent in the last step: gradients, and parameters that it updates for all.
  std::int64_t sent_bytes() const;
  /// SHA-256 of all parameters as they lie in memory.
  std::string parameters_hash() const;
  /// Writes zeros over all gradients: with Gradients::added, before a step's first batch.
  void clear_gradients();
  /// Norms where they are taken, then the update. `step` counts from 0.
  UpdateResult update(std::int64_t step);

  /// Instead of an update after a forward whose loss is not finite; counts as a skipped one.
  UpdateResult leave_out(std::int64_t step);

  State& state() { return state_; }
  const State& state() const { return state_; }
  const TrainingOptions& options() const { return options_; }
  const TrainingPrograms& programs() const { return programs_; }
  LossScale& loss_scale() { return loss_scale_; }
  const LossScale& loss_scale() const { return loss_scale_; }
  /// Updates that were not skipped: what AdamW's corrections count.
  std::int64_t updates() const { return updates_; }
  void set_updates(std::int64_t updates) { updates_ = updates; }
  /// Plans of the three segments; the first is that of the last batch. Null where the options leave a segment
  /// out.
  Plan* step_plan() const { return plan_; }
  Plan* norm_plan() { return norm_plan_.get(); }
  Plan* update_plan() { return update_plan_.get(); }

 private:
  using PlanKey = std::pair<std::pair<std::int64_t, std::int64_t>, AttentionMask>;  ///< ((B, T), mask)
  void load_parameters(const Weights& weights);
  void refuse_what_does_not_fit(const MachineFacts& facts) const;
  std::optional<double> gradient_norm();
  Tensor norms_of_all(const Tensor& own) const;
  double squared_norm(const Tensor& norms) const;
  std::vector<ReducedTensor> gradients_as_finished();
  std::vector<DeviceValues> gradients_on_device();
  void note_finished(std::size_t node);
  void end_reduction();
  void hand_out_parameters();
  UpdateResult before_update(std::int64_t step, std::optional<double> norm);
  std::int64_t lost_updates() const;
  void begin_scale_histories();
  void share_what_scales_saw();
  void turn_scale_histories();

  TrainingOptions options_;
  TrainingPrograms programs_;
  State state_;
  LossScale loss_scale_;
  Weights no_weights_;  ///< Parameters are state.
  std::unique_ptr<Instance> step_;
  std::unique_ptr<Instance> norms_;
  std::unique_ptr<Instance> update_;
  std::map<PlanKey, std::unique_ptr<Plan>> plans_;
  Plan* plan_ = nullptr;
  std::unique_ptr<Plan> norm_plan_;
  std::unique_ptr<Plan> update_plan_;
  std::int64_t updates_ = 0;
  InterruptFlag interrupted_ = nullptr;
  Group* group_ = nullptr;
  std::unique_ptr<GradientReducer> reducer_;
  std::int64_t handed_out_bytes_ = 0;
  std::vector<std::vector<std::size_t>> finished_by_;  ///< By node of the step: tensors of the reducer.
};

/// Of a step's gradients: all, and those of the rank that updates most parameters.
struct GradientBytes {
  std::int64_t all = 0;
  std::int64_t most_owned = 0;
};
GradientBytes gradient_bytes(const TrainingPrograms& programs, int ranks);
/// In the order of finishing_order.
std::vector<GradientSize> gradient_sizes(const Program& step);

/// What training with those programs holds from its first step to its last.
struct StateBytes {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t moments = 0;  ///< Of the optimizer, their scales included.

  std::int64_t total() const { return parameters + gradients + moments; }
};
StateBytes state_bytes_by_use(const TrainingPrograms& programs);
/// Bytes of parameters, gradients and moments that training with those programs holds.
std::int64_t state_bytes(const TrainingPrograms& programs);

}  // namespace assay
