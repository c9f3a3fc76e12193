#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/document.h"
#include "results/record.h"
#include "studies/sensitivity/run.h"
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
  UnitQuality searched = {};                 ///< On the search's rows.
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
  std::vector<TunePoint> points = {};
  std::optional<std::size_t> best = {};  ///< Of `points`; absent: none passed.
  bool is_partial = false;               ///< The budget or an interrupt ended the search.
  std::vector<LeftOut> left_out = {};    ///< Rows that no layer was given.
  double budget_s = 0;
  double estimates_s = 0;  ///< What costs, errors and gradients took.
  double search_s = 0;
};

/// Of a precision, what was timed for the aim; null: nothing was.
const Record* record_for(const Tuning& tuning, const std::string& precision, std::span<const Record> records);
/// What a point takes for the aim, from its record or its size; absent where it was not timed, or its joules may not be
/// used.
std::optional<double> cost_of(const Tuning& tuning, const TunePoint& point, const Document& timed);
/// Whether it keeps the limit on the rows that the search did not see.
bool keeps_limit(const Tuning& tuning, const TunePoint& point);
/// Whether anything was scored on those rows.
bool is_scored(const Tuning& tuning);
/// The mix that is foretold to be cheapest of those that kept the limit on the search's rows; null: none did.
const TriedMix* best_tried(const Tuning& tuning);
/// The cheapest that keeps the limit on the other rows becomes `best`.
void choose_best(Tuning& tuning, const Document& timed);

// document.cc
/// Adds to the document of the last timing what was chosen, the points, and why.
void describe(const Tuning& tuning, Document& document);

// state.cc
/// What an earlier run of the same identity left in the file; nothing where there is none. Throws a user error for
/// a file that is no such state.
MeasuredLosses losses_from(const std::filesystem::path& file, const std::string& identity);
/// `batches`: that mixes are searched on.
struct TuneState {
  std::string identity = {};
  std::size_t batches = 0;
};
void write_losses(const std::filesystem::path& file, const TuneState& state, const MeasuredLosses& losses);
/// Of an earlier run's state, so that the next one searches on as many; absent where there is no file. Throws as
/// losses_from.
std::optional<std::size_t> searched_batches_in(const std::filesystem::path& file);

}  // namespace assay
