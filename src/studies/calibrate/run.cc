#include "studies/calibrate/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "base/interrupt.h"
#include "model/own_head.h"
#include "studies/calibrate/activations.h"
#include "studies/calibrate/data.h"
#include "studies/calibrate/parameters.h"
#include "studies/calibrate/places.h"
#include "studies/calibrate/rounding.h"
#include "studies/calibrate/smoothing.h"
#include "studies/calibrate/tied_head.h"
#include "studies/calibrate/trials.h"
#include "studies/sensitivity/request.h"
#include "studies/sensitivity/run.h"
#include "studies/shared/quality_data.h"

namespace assay {
namespace {

/// Of each place, that errors are judged on.
constexpr std::int64_t rows_behind_errors = 128;

/// A model's layers on the data, with no precision of its own.
SensitivityRequest request_for_layers(const Model& model, const QualitySet& set, const EngineOptions& engine) {
  SensitivityRequest request;
  request.models = {model.name};
  request.precisions = {};
  request.by = {"layer"};
  request.engine = engine_for(set, engine);
  return request;
}

/// What calibration may change, unchanged.
WeightChanges no_changes(const Program& built, const std::vector<LinearPlace>& places) {
  WeightChanges changes;
  for (const LinearPlace& place : places) {
    for (const std::size_t n : place.layers) {
      changes[matrix_name(built, n)];
      if (const std::string* const bias = bias_name(built, n)) changes[*bias];
    }
    if (!place.is_smoothable) continue;
    for (const DividedParameter& parameter : place.divided) changes[parameter.name];
  }
  return changes;
}

/// All places are smoothed before any is rounded.
std::vector<CalibratedPlace> calibrated_places(const ModelTrial& trial, const std::vector<LinearPlace>& places) {
  const StudyCallbacks& callbacks = trial.subject.callbacks;
  const std::vector<PlaceActivations> activations = activations_at(trial.subject, places, rows_behind_errors);
  std::vector<CalibratedPlace> results(places.size());
  std::vector<std::vector<float>> factors(places.size());
  for (std::size_t i = 0; i < places.size() && !is_set(callbacks.interrupted); ++i) {
    if (callbacks.progress) callbacks.progress("factors of " + places[i].name, 0);
    factors[i] = smooth_place(trial, places[i], activations[i], results[i]);
  }
  round_places(trial, places, activations, factors, results);
  return results;
}

ActivationScales scales_of(const Program& built, const std::vector<LinearPlace>& places,
                           const std::vector<CalibratedPlace>& found) {
  ActivationScales scales;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].scale.scale == scale_by_row) continue;
    for (const std::size_t n : places[i].layers) scales[built.nodes[n].path] = found[i].scale.scale;
  }
  return scales;
}

/// How often each method won, "min-max 12, entropy 5".
std::string methods_won(const std::vector<CalibratedPlace>& places) {
  std::map<std::string, int> wins;
  for (const CalibratedPlace& place : places) ++wins[place.scale.method];
  std::vector<std::string> words;
  words.reserve(wins.size());
  for (const auto& [method, count] : wins) words.push_back(fmt::format("{} {}", method, count));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string method_words(const std::string& precision, const Calibration& found, const std::string& data) {
  return fmt::format(
      "SmoothQuant by place for {}, factors by descent and least error of its own kernels, codes with error feedback "
      "(GPTQ), {}bias correction{}; {}",
      precision,
      found.scales != nullptr
          ? fmt::format("static scales by the method of least error of them ({}), ", methods_won(found.places))
          : "",
      found.head == HeadTable::own ? ", a table of its own for the head that was tied" : "", data);
}

}  // namespace

Calibration calibrate(const Model& asked, const CalibrationRequest& request, const MachineFacts& facts,
                      const StudyCallbacks& callbacks) {
  const QualitySet set = calibration_rows(asked, {request.data, request.samples, request.window});
  const PrecisionChoice row = precision_choice(request.precision, request.engine, facts);
  const std::optional<Model> apart = rounds_tied_head(asked, row) ? with_own_head(asked) : std::nullopt;
  const Model& model = apart ? *apart : asked;
  const SensitivityRequest layers = request_for_layers(model, set, request.engine);
  const StudiedModel subject = studied_model(layers, model, set, facts, callbacks);
  const std::vector<LinearPlace> places = linear_places(subject.built);
  Calibration result;
  result.changes = std::make_shared<WeightChanges>(no_changes(subject.built, places));
  Model changed_model = model;
  changed_model.weights = changed_weights(model.weights, result.changes);
  const StudiedModel changed = studied_model(layers, changed_model, set, facts, callbacks);
  result.places = calibrated_places({subject, changed, *result.changes, row}, places);
  std::erase_if(*result.changes, [](const auto& change) { return change.second == WeightChange{}; });
  if (apart) result.head = settled_head(asked, *result.changes);
  if (row.row.scheme == Scheme::static_int8)
    result.scales = std::make_shared<ActivationScales>(scales_of(subject.built, places, result.places));
  result.words = method_words(request.precision, result, calibration_words(set));
  return result;
}

CalibratedWeights calibrated_weights(const Model& model, const Calibration& calibration) {
  const std::optional<Model> apart = calibration.head == HeadTable::own ? with_own_head(model) : std::nullopt;
  const Model& base = apart ? *apart : model;
  return {changed_weights(base.weights, calibration.changes), base.config, calibration.scales, calibration.words};
}

}  // namespace assay
