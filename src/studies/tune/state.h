#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "studies/sensitivity/run.h"
#include "studies/tune/options.h"

namespace assay {

/// What a search found so far, so that one that goes on measures nothing twice.
struct TuneState {
  std::string identity = {};                ///< Of model, data, engine and threads.
  std::string searched_on = {};             ///< Rows that losses are of; empty: not chosen yet.
  std::optional<std::size_t> batches = {};  ///< Of them.
  MeasuredLosses losses = {};

  /// What is known of units in rows, by the names of row and unit.
  using Key = std::pair<std::string, std::string>;
  std::string costs_of = {};  ///< Shape and meter that costs are of.
  std::map<Key, UnitCost> costs = {};
  std::map<Key, LayerError> errors = {};
  std::string estimates_of = {};         ///< Rows that gradients are of.
  std::set<std::string> estimated = {};  ///< Rows of the precision table whose layers have all estimates there are.
  std::map<Key, GradientEstimate> estimates = {};

  bool is_empty() const { return losses.empty() && costs.empty(); }
};

/// What an earlier run left in the file; absent where there is none. Throws a user error for a file that is no such
/// state.
std::optional<TuneState> state_from(const std::filesystem::path& file);
/// Throws a user error where it is of something else.
void check_identity(const TuneState& state, const std::filesystem::path& file, const std::string& identity);
/// The same of the rows that it searched on, where it had chosen them.
void check_searched_on(const TuneState& state, const std::filesystem::path& file, const std::string& searched_on);
void write_state(const std::filesystem::path& file, const TuneState& state);

/// Takes what the study has found of its units into the state, beside what rows have that the study left out.
void take_units(const ModelSensitivity& study, TuneState& state);
/// Gives the study costs, where the state has all of them. False where it has not: what was measured at other times
/// compares with nothing.
bool give_costs(const TuneState& state, const std::string& costs_of, ModelSensitivity& study);
/// Gives the study errors of layers, as many as there are.
void give_errors(const TuneState& state, ModelSensitivity& study);
/// Gives the study estimates, where the state has all of them.
bool give_estimates(const TuneState& state, const std::string& estimates_of, ModelSensitivity& study);

}  // namespace assay
