#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "results/document.h"
#include "studies/sensitivity/run.h"
#include "studies/tune/answer.h"
#include "studies/tune/budget.h"
#include "studies/tune/request.h"
#include "studies/tune/search.h"
#include "tensor/recipe.h"

namespace assay {

/// A uniform precision or a mix that was timed and scored in the end.
struct TunePoint {
  std::string precision = {};  ///< As records have it: "int8", "recipe:mix-1".
  Recipe recipe = {};
  bool is_mix = false;
  std::optional<UnitQuality> searched = {};  ///< On the search's rows; absent: left out before it was scored there.
  std::optional<UnitQuality> held_out = {};  ///< On rows that the search did not see.
  std::int64_t model_bytes = 0;
};

/// All that a tuning found.
struct Tuning {
  LossLimit limit = {};
  Aim aim = Aim::latency;
  std::string model = {};
  std::string searched_on = {};
  std::string held_out_of = {};
  std::size_t parts = 0;
  std::vector<TriedMix> tried = {};
  std::vector<TunePoint> points = {};  ///< fp32 first.
  TuneAnswer answer = {};
  bool is_partial = false;             ///< The budget or an interrupt ended the search.
  bool is_interrupted = false;         ///< Whatever followed was not done, or not all of it.
  std::vector<LeftOut> left_out = {};  ///< Rows that no layer was given.
  double budget_s = 0;
  double estimates_s = 0;  ///< What costs, errors and gradients took.
  double search_s = 0;
};

/// Whether it keeps the limit on the rows that the search did not see.
bool keeps_limit(const Tuning& tuning, const TunePoint& point);
/// Whether anything was scored on those rows.
bool is_scored(const Tuning& tuning);
/// The mix that is foretold to be cheapest of those that kept the limit on the search's rows; null: none did.
const TriedMix* best_tried(const Tuning& tuning);
/// What a user may take: of the answer, or after an interrupt of the best mix so far, unchecked. Null: there is none.
const Recipe* recipe_to_take(const Tuning& tuning);

// document.cc
/// Adds to the document of the last timing what was chosen, the points, and why.
void describe(const Tuning& tuning, Document& document);

}  // namespace assay
