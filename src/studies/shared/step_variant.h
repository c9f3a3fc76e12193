#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/programs.h"
#include "training/state_format.h"

namespace assay {

/// One way to do a training step, beside its precision.
struct StepVariant {
  Recompute recompute = Recompute::none;
  OptimizerKind optimizer = OptimizerKind::adamw;
  double clip = 0;               ///< Largest norm of the gradient; 0: none.
  std::int64_t accumulate = 1;   ///< Parts of the batch that are worked one after another.
  std::string base = {};         ///< How weights beside adapters are kept; empty: in the training's precision.
  TrainingStorage storage = {};  ///< Of moments and gradients.

  bool operator==(const StepVariant&) const = default;
};

/// Lists of them; every combination is meant. Empty lists stand for what StepVariant has.
struct StepAxes {
  std::vector<Recompute> recomputes = {};
  std::vector<OptimizerKind> optimizers = {};
  std::vector<double> clips = {};
  std::vector<std::int64_t> accumulates = {};
  std::vector<std::string> bases = {};
  std::vector<std::string> states = {};     ///< As find_state_format knows them.
  std::vector<std::string> gradients = {};  ///< As parse_gradient_dtype does.
};

/// In the order in which they were asked, recomputation changing fastest.
/// Throws a user error for states or gradients that there are not.
std::vector<StepVariant> step_variants(const StepAxes& axes);
/// Takes the variant into a step's options. `formats`: how the model's checkpoint holds weights.
void apply(const StepVariant& variant, const WeightFormats& formats, TrainingOptions& options);
/// "sgd, clip 1, 4 parts, base int8-weights, states 8bit"; empty for an AdamW step on the whole batch. Recomputation is
/// not in it.
std::string words(const StepVariant& variant);

}  // namespace assay
