#include "studies/tune/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/write_file.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

constexpr std::size_t largest_state = std::size_t{256} << 20;
constexpr const char* state_schema = "assay-tune-state-3";

Json change_json(const std::optional<Change>& change) {
  if (!change) return nullptr;
  Json json = {{"value", change->value}};
  if (change->interval) json["interval"] = {change->interval->low, change->interval->high};
  return json;
}

std::optional<Change> change_from(const Json& json) {
  if (json.is_null()) return std::nullopt;
  Change change{json.at("value").get<double>()};
  if (json.contains("interval"))
    change.interval = Interval{json.at("interval").at(0).get<double>(), json.at("interval").at(1).get<double>()};
  return change;
}

Json loss_json(const UnitQuality& quality) {
  return {{"kl", change_json(quality.kl)},
          {"delta_nll", change_json(quality.delta_nll)},
          {"accuracy_change", change_json(quality.accuracy_change)},
          {"failure", quality.failure}};
}

UnitQuality loss_from(const Json& json) {
  return {change_from(json.at("kl")).value_or(Change{}), change_from(json.at("delta_nll")),
          change_from(json.at("accuracy_change")), json.at("failure").get<std::string>()};
}

constexpr std::pair<const char*, double UnitCost::*> cost_members[] = {
    {"fp32_ms", &UnitCost::fp32_ms},     {"low_ms", &UnitCost::low_ms},         {"fp32_bytes", &UnitCost::fp32_bytes},
    {"low_bytes", &UnitCost::low_bytes}, {"read_bytes", &UnitCost::read_bytes}, {"fp32_j", &UnitCost::fp32_j},
    {"low_j", &UnitCost::low_j}};

Json cost_json(const UnitCost& cost) {
  Json json = Json::object();
  for (const auto& [name, member] : cost_members) json[name] = cost.*member;
  return json;
}

UnitCost cost_from(const Json& json) {
  UnitCost cost;
  for (const auto& [name, member] : cost_members) cost.*member = json.at(name).get<double>();
  return cost;
}

Json number_json(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

std::optional<double> number_from(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

Json error_json(const LayerError& error) {
  return {{"snr_db", number_json(error.snr_db)},
          {"weight_snr_db", number_json(error.weight_snr_db)},
          {"kurtosis", error.kurtosis},
          {"largest_over_rms", error.largest_over_rms}};
}

LayerError error_from(const Json& json) {
  return {number_from(json.at("snr_db")), number_from(json.at("weight_snr_db")), json.at("kurtosis").get<double>(),
          json.at("largest_over_rms").get<double>()};
}

Json estimate_json(const GradientEstimate& estimate) {
  return {{"first_order", estimate.first_order}, {"fisher", estimate.fisher}};
}

GradientEstimate estimate_from(const Json& json) {
  return {json.at("first_order").get<double>(), json.at("fisher").get<double>()};
}

/// {"int8": {"layers.0.attn.q_proj": ...}}
template <typename Figure>
Json units_json(const std::map<TuneState::Key, Figure>& figures, Json (*json_of)(const Figure&)) {
  Json json = Json::object();
  for (const auto& [key, figure] : figures) json[key.first][key.second] = json_of(figure);
  return json;
}

template <typename Figure>
std::map<TuneState::Key, Figure> units_from(const Json& json, Figure (*from)(const Json&)) {
  std::map<TuneState::Key, Figure> figures;
  for (const auto& [row, units] : json.items()) {
    for (const auto& [unit, figure] : units.items()) figures.emplace(TuneState::Key{row, unit}, from(figure));
  }
  return figures;
}

[[noreturn]] void fail_damaged(const std::filesystem::path& file, const std::string& fault) {
  fail_user("{}: is damaged: {}; without the file 'assay tune' starts anew", file.string(), fault);
}

Json state_json(const std::filesystem::path& file) {
  const std::string text = read_file(file, largest_state);
  try {
    return parse_json(text, file.string());
  } catch (const Error&) {  // Which would quote what stands there.
    fail_damaged(file, "it is no JSON, or not all of it");
  }
}

/// Empty where there is no such text.
std::string text_of(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json.at(key).is_string()) return "";
  return json.at(key).get<std::string>();
}

MeasuredLosses losses_from(const Json& json, const std::filesystem::path& file) {
  if (!json.contains("mixes") || !json.at("mixes").is_object()) fail_damaged(file, "it lacks 'mixes'");
  const Json& mixes = json.at("mixes");
  MeasuredLosses losses;
  for (const auto& [recipe, loss] : mixes.items()) {
    try {
      losses.emplace(recipe, loss_from(loss));
    } catch (const Json::exception&) {
      fail_damaged(file, fmt::format("of mix {} of {} it lacks a loss", losses.size() + 1, mixes.size()));
    }
  }
  return losses;
}

void read_state_units(const Json& json, const std::filesystem::path& file, TuneState& state) {
  try {
    state.costs_of = json.at("costs_of").get<std::string>();
    state.costs = units_from(json.at("costs"), cost_from);
    state.errors = units_from(json.at("errors"), error_from);
    state.estimates_of = json.at("estimates_of").get<std::string>();
    state.estimated = json.at("estimated").get<std::set<std::string>>();
    state.estimates = units_from(json.at("estimates"), estimate_from);
  } catch (const Json::exception&) {
    fail_damaged(file, "of a layer it lacks a cost, an error or an estimate");
  }
}

std::optional<std::size_t> batches_from(const Json& json, const std::filesystem::path& file) {
  if (!json.contains("batches")) return std::nullopt;
  if (!json.at("batches").is_number_unsigned()) fail_damaged(file, "'batches' is no number");
  return json.at("batches").get<std::size_t>();
}

template <typename Figure>
const Figure* figure_in(const std::map<TuneState::Key, Figure>& figures, const UnitRow& row) {
  const auto found = figures.find({row.precision, row.unit.name});
  return found == figures.end() ? nullptr : &found->second;
}

}  // namespace

std::optional<TuneState> state_from(const std::filesystem::path& file) {
  if (file.empty() || !is_there(file)) return std::nullopt;
  const Json json = state_json(file);
  if (text_of(json, "schema") != state_schema) fail_user("{}: is no state of 'assay tune'", file.string());
  TuneState state;
  state.identity = text_of(json, "identity");
  if (state.identity.empty()) fail_damaged(file, "it lacks 'identity'");
  state.searched_on = text_of(json, "searched_on");
  state.batches = batches_from(json, file);
  state.losses = losses_from(json, file);
  if (!state.batches && !state.losses.empty()) fail_damaged(file, "it lacks 'batches'");
  read_state_units(json, file, state);
  return state;
}

void check_identity(const TuneState& state, const std::filesystem::path& file, const std::string& identity) {
  if (state.identity != identity)
    fail_user("{}: is of another model, data, or machine: {}", file.string(), printable(state.identity, 200));
}

void check_searched_on(const TuneState& state, const std::filesystem::path& file, const std::string& searched_on) {
  if (!state.searched_on.empty() && state.searched_on != searched_on)
    fail_user("{}: was searched on other rows: {}", file.string(), printable(state.searched_on, 200));
}

void write_state(const std::filesystem::path& file, const TuneState& state) {
  Json mixes = Json::object();
  for (const auto& [recipe, loss] : state.losses) mixes[recipe] = loss_json(loss);
  Json json = {{"schema", state_schema},
               {"identity", state.identity},
               {"searched_on", state.searched_on},
               {"mixes", std::move(mixes)},
               {"costs_of", state.costs_of},
               {"costs", units_json(state.costs, cost_json)},
               {"errors", units_json(state.errors, error_json)},
               {"estimates_of", state.estimates_of},
               {"estimated", state.estimated},
               {"estimates", units_json(state.estimates, estimate_json)}};
  if (state.batches) json["batches"] = *state.batches;
  write_file_atomically(file, json.dump(1) + "\n");
}

void take_units(const ModelSensitivity& study, TuneState& state) {
  for (const UnitRow& row : study.rows_by_unit) {
    const TuneState::Key key{row.precision, row.unit.name};
    if (row.cost) state.costs.insert_or_assign(key, *row.cost);
    if (row.error) state.errors.insert_or_assign(key, *row.error);
    if (row.estimate) state.estimates.insert_or_assign(key, *row.estimate);
  }
}

bool give_costs(const TuneState& state, const std::string& costs_of, ModelSensitivity& study) {
  const bool has_all = state.costs_of == costs_of &&
                       std::all_of(study.rows_by_unit.begin(), study.rows_by_unit.end(),
                                   [&](const UnitRow& row) { return figure_in(state.costs, row) != nullptr; });
  for (UnitRow& row : study.rows_by_unit) {
    if (has_all) row.cost = *figure_in(state.costs, row);
  }
  return has_all;
}

void give_errors(const TuneState& state, ModelSensitivity& study) {
  for (UnitRow& row : study.rows_by_unit) {
    if (const LayerError* error = figure_in(state.errors, row)) row.error = *error;
  }
}

bool give_estimates(const TuneState& state, const std::string& estimates_of, ModelSensitivity& study) {
  const bool has_all = state.estimates_of == estimates_of &&
                       std::all_of(study.rows_by_unit.begin(), study.rows_by_unit.end(),
                                   [&](const UnitRow& row) { return state.estimated.contains(row.precision); });
  for (UnitRow& row : study.rows_by_unit) {
    const GradientEstimate* estimate = has_all ? figure_in(state.estimates, row) : nullptr;
    if (estimate != nullptr) row.estimate = *estimate;
  }
  return has_all;
}

}  // namespace assay
