#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quality/compare.h"
#include "results/document.h"
#include "statistics/statistics.h"
#include "studies/train/run.h"

namespace assay {

struct CompareTrainingRequest {
  TrainRequest training;                ///< Its precision and seed are set in turn; nothing of it is saved.
  std::vector<std::string> precisions;  ///< The first, with the first storage, is what the others are compared with.
  std::vector<TrainingStorage> storages = {{}};  ///< Of each precision.
  std::vector<ReduceFormat> reduces;  ///< Of several ranks: each of these with each; empty: as `training` says.
  int thread_ranks = 1;               ///< Threads of this process that are ranks.
  std::int64_t seeds = 1;             ///< Trainings a precision: seeds s, s + 1, ...
  std::optional<double> target_loss;  ///< Absent: the worst final loss of the precisions that learned.
};

/// One training: a value a step.
struct TrainingCurve {
  std::uint64_t seed = 0;
  std::vector<double> loss;
  std::vector<double> gradient_norm;
  std::vector<double> loss_scale;
  std::vector<double> lost_share;  ///< Of the parameters: updates that were not zero and rounded to nothing.
  std::vector<double> at_s;        ///< Since the first step began.
  std::vector<double> at_j;        ///< Joules since then; empty without a meter.
  std::int64_t skipped = 0;
  std::optional<std::int64_t> first_nonfinite;  ///< Step whose loss or gradient was not finite, or weights behind it.
  bool diverged = false;                        ///< It ended there.
};

/// A mean over seeds; the interval, 95 % by Student's t, is of the mean over all seeds. Absent of one seed.
struct SeedMean {
  double value = 0;
  std::optional<Interval> interval;
};

/// All trainings in one precision and storage, and what they come to.
struct PrecisionCurves {
  std::string precision;
  TrainingStorage storage;
  std::optional<ReduceFormat> reduce = std::nullopt;  ///< As --reduce asked; absent: as the training has it.
  std::string failure;                                ///< Why there are none: does not fit, cannot be trained.
  std::vector<TrainingCurve> curves;
  /// Mean over seeds of the last tenth of the steps; absent where one of these losses is not finite, or a training
  /// diverged.
  std::optional<double> final_loss;
  bool learned = false;  ///< The loss fell at least half as far as the first precision's.
  /// Final loss less the first precision's, step by step on the same batches, and its standard error: over blocks of
  /// steps of every seed, since neighbouring steps are not independent.
  std::optional<double> difference;
  std::optional<double> difference_se;
  std::optional<SeedMean> seed_difference;  ///< Of the final losses, seed by seed; of two seeds or more.
  StateBytes held;                          ///< From the first step to the last.
  std::vector<ScaleShares> scales;          ///< Of products of 8 bits: what the first seed's steps lost on average.
  std::optional<SeedMean> step_s;           ///< Of the medians of each seed's steps but its first.
  /// With held-out data: what the last evaluation of each seed found, row by row; empty where one has none.
  std::vector<QualityRows> held_out;
  std::optional<double> held_out_loss;  ///< Mean over rows and seeds.
  /// Less the first precision's, row by row, means over seeds; the interval is over windows of the text.
  std::optional<WindowMean> held_out_difference;
  std::optional<double> seconds_to_target;  ///< Mean over seeds; absent where a seed never got there.
  std::optional<double> joules_to_target;

  /// "fp32", "fp32 (states 8bit)".
  std::string name() const;
};

struct TrainingComparison {
  std::string model;
  std::string data;
  std::int64_t steps = 0;
  std::optional<double> target_loss;  ///< Absent where none was asked for and no precision learned.
  std::string energy_status;
  std::vector<PrecisionCurves> precisions;
};

/// The same data in the same order from the same weights, in each precision. Throws what train() throws, but for a
/// precision that does not fit or cannot be trained, which is a row with its reason.
/// Each rank of a group calls it and gets the same but for times.
TrainingComparison compare_training(const CompareTrainingRequest& request, const MachineFacts& facts,
                                    const TrainCallbacks& callbacks, Group& group);
TrainingComparison compare_training(const CompareTrainingRequest& request, const MachineFacts& facts,
                                    const TrainCallbacks& callbacks);

/// Precisions that fail, and those that lose updates in rounding.
std::vector<std::string> comparison_notes(const TrainingComparison& comparison);
/// What each comes to, every training with its curves, the losses as a chart.
Document to_document(const TrainingComparison& comparison);

}  // namespace assay
