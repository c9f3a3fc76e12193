#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quality/evaluate.h"
#include "studies/sensitivity/run.h"
#include "studies/tune/parts.h"
#include "studies/tune/request.h"
#include "studies/tune/scoring.h"
#include "tensor/recipe.h"

namespace assay {

/// Measured losses by the text of a recipe, so that a search that is resumed measures nothing twice.
using MeasuredLosses = std::map<std::string, UnitQuality>;

/// Where losses go as soon as they are measured.
struct LossStore {
  MeasuredLosses& known;
  std::function<void()> keep = {};  ///< Called whenever some are new; may be empty.
};

/// Recipes that share a run of fp32.
inline constexpr std::size_t scored_together = 4;

/// What recipes lose on the search's rows, each from the store where it is there, else measured and put there. `lent`:
/// an instance of each that can be scored so, or none, and then they are made here. Absent after an interrupt: the
/// store has what was measured.
std::optional<std::vector<UnitQuality>> losses_of(const Scoring& scoring, const std::vector<Recipe>& recipes,
                                                  const std::vector<Instance*>& lent, const LossStore& store);

/// Mean KL of a linear layer alone in a row, foretold: the empirical Fisher estimate of its weight error, times how
/// much larger the relative error of its output is than that of its weight (activations that are rounded too). Absent
/// where gradients foretell none (a head tied to the embedding).
std::optional<double> foretold_kl(const UnitRow& row);

/// Costs and losses of every part and rest in every row; of decoding, of every rest with every cache. Losses of a row's
/// parts are scaled so that together they are what the row loses as a whole; parts without an estimate are measured
/// alone. Absent after an interrupt.
std::optional<MixChoices> choices_of(const TuneRequest& request, const ModelSensitivity& study, const Scoring& scoring,
                                     const LossStore& store);

}  // namespace assay
