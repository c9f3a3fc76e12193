#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/sensitivity/run.h"
#include "studies/tune/knapsack.h"
#include "studies/tune/options.h"
#include "studies/tune/parts.h"
#include "studies/tune/request.h"
#include "tensor/recipe.h"

namespace assay {

/// A mix that was measured whole on the search's rows.
struct TriedMix {
  Mix mix = {};
  Recipe recipe = {};
  PartOption foretold = {};
  UnitQuality quality = {};
};

/// What a quality loses, as the limit counts it; infinite where it is not finite or has no labels.
double loss_of(LossKind kind, const UnitQuality& quality);

/// The same at the worse end of its 95 % interval; absent where there is none.
std::optional<double> worst_loss(LossKind kind, const UnitQuality& quality);

/// Of mixes that were tried, the one that is foretold to be cheapest and keeps a share of the limit on the search's
/// rows; null: none does.
const TriedMix* cheapest_within_limit(const std::vector<TriedMix>& tried, const LossLimit& limit, double share);

/// Where a search is told to end, and what it knows from before and leaves behind.
struct SearchContext {
  const TuneRequest& request;
  const Scoring& scoring;
  double end_s = 0;  ///< By now_s().
  LossStore store;
};

/// Mixes by the foretold optimum under budgets from far above the limit to far below it, closer and closer to where the
/// measured loss crosses the limit; then the best one, changed in one part, or its cache, at a time while that makes it
/// cheaper within the limit. All that were measured, in that order. Ends early at `end_s` and at an interrupt.
std::vector<TriedMix> search_mixes(const MixChoices& choices, const SearchContext& context);

/// The search aims a little below the limit: what is chosen because it passes tends to look better than it is.
constexpr double aimed_share = 0.9;

}  // namespace assay
