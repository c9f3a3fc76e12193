#include "studies/calibrate/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "model/config.h"
#include "model/stored_values.h"
#include "model/weights.h"
#include "program/program.h"
#include "quality/evaluate.h"
#include "studies/calibrate/activations.h"
#include "studies/calibrate/places.h"
#include "studies/sensitivity/alone.h"
#include "studies/sensitivity/request.h"
#include "studies/sensitivity/run.h"
#include "studies/shared/quality_data.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace assay {
namespace {

constexpr std::int64_t rows_behind_errors = 128;
/// 0 and 1 put all of the difficulty on one side; the published optimum of most models lies between.
constexpr double alphas[] = {0.25, 0.4, 0.5, 0.6, 0.75, 0.9};
/// A channel that is nothing stays as it is.
constexpr float least_magnitude = 1e-5F;
/// In the place of a static scale.
constexpr double by_token = 0;
/// A static scale that makes the error larger than so many times that of scales by token is none.
constexpr double most_of_error_by_token = 2;
/// What is not better by so much is not changed: factors cost the exactness of fp32.
constexpr double least_gain = 0.02;

QualitySet calibration_set(const Model& model, const CalibrationRequest& request) {
  QualityRequest quality;
  quality.data = request.data;
  quality.protocol.window = std::min(request.window, model.config.context);
  quality.protocol.batch = 1;
  if (labels_tokens(model.config.task)) quality.protocol.most_tokens = request.samples * quality.protocol.window;
  QualityData data = quality_data(model, quality);
  auto& batches = data.set->batches;
  batches.resize(std::min(batches.size(), static_cast<std::size_t>(request.samples)));
  return std::move(*data.set);
}

/// Rows at a place, and what their layers give in fp32.
struct RowsAtPlace {
  const LinearPlace& place;
  const Tensor& rows;
  float largest;  ///< Magnitude of all that was ever there.
};

/// Outputs of linear layers in one row, with changed weights.
class LayerTrials {
 public:
  LayerTrials(const StudiedModel& subject, const StudiedModel& changed, const PrecisionChoice& row)
      : subject_(subject), changed_(changed), row_(row) {}

  bool has_static_scales() const { return row_.row.scheme == Scheme::static_int8; }

  /// Of each layer of the place in fp32.
  std::vector<Tensor> exact(const LinearPlace& place, const Tensor& rows) const {
    std::vector<Tensor> outputs;
    outputs.reserve(place.layers.size());
    for (const std::size_t n : place.layers) outputs.push_back(output_of(subject_, n, subject_.fp32, rows));
    return outputs;
  }

  /// In the row, with the changes as they are now and that scale of the input.
  std::vector<Tensor> low(const LinearPlace& place, const Tensor& rows, double scale) const {
    PrecisionChoice choice = row_;
    const auto scales = std::make_shared<ActivationScales>();
    if (scale != by_token) {
      for (const std::size_t n : place.layers) (*scales)[subject_.built.nodes[n].path] = scale;
    }
    choice.scales = scales;
    std::vector<Tensor> outputs;
    outputs.reserve(place.layers.size());
    for (const std::size_t n : place.layers) outputs.push_back(output_of(changed_, n, choice, rows));
    return outputs;
  }

 private:
  static Tensor output_of(const StudiedModel& model, std::size_t node, const PrecisionChoice& choice,
                          const Tensor& rows) {
    LayerAlone layer(model, model.built.nodes[node], choice, {1, rows.shape()[0]});
    Tensor copy(DType::f32, rows.shape());
    std::copy_n(rows.data(), rows.bytes(), copy.data());
    layer.set_input({std::move(copy)});
    layer.run();
    return layer.output();
  }

  const StudiedModel& subject_;
  const StudiedModel& changed_;
  const PrecisionChoice& row_;
};

/// Of one row of an output: the power of the difference over the row's own.
double relative_error(const float* exact, const float* low, std::int64_t width) {
  double power = 0;
  double noise = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    const double difference = static_cast<double>(low[i]) - exact[i];
    power += static_cast<double>(exact[i]) * exact[i];
    noise += difference * difference;
  }
  return power > 0 ? noise / power : 0;
}

/// Mean over rows, so that the largest hide no others, and over outputs.
double relative_error(const std::vector<Tensor>& exact, const std::vector<Tensor>& low) {
  double sum = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const std::int64_t width = exact[i].shape().back();
    const std::int64_t rows = exact[i].count() / width;
    double of_rows = 0;
    for (std::int64_t row = 0; row < rows; ++row)
      of_rows += relative_error(exact[i].as<float>() + row * width, low[i].as<float>() + row * width, width);
    sum += of_rows / static_cast<double>(rows);
  }
  return sum / static_cast<double>(exact.size());
}

/// Largest magnitude of each column over all matrices.
std::vector<float> largest_of_columns(const Weights& weights, const LinearPlace& place) {
  std::vector<float> largest(place.channels.size());
  for (const std::string& name : place.matrices) {
    const WeightData matrix = in_f32(weights.at(name).load());
    for (std::int64_t i = 0; i < matrix.view.count(); ++i) {
      float& most = largest[static_cast<std::size_t>(i) % largest.size()];
      most = std::max(most, std::abs(matrix.view.as<float>()[i]));
    }
  }
  return largest;
}

/// Of rows: the largest of the channels that come from each.
std::vector<float> by_row(const LinearPlace& place, const std::vector<float>& by_channel) {
  std::vector<float> rows(static_cast<std::size_t>(place.rows));
  for (std::size_t c = 0; c < by_channel.size(); ++c) {
    float& row = rows[static_cast<std::size_t>(place.channels[c])];
    row = std::max(row, by_channel[c]);
  }
  return rows;
}

/// s = max|x|^alpha / max|w|^(1 - alpha), by row, scaled so that they lie around 1; 1 where either is nothing.
std::vector<float> factors_for(double alpha, const std::vector<float>& activations, const std::vector<float>& weights) {
  std::vector<float> factors(activations.size(), 1.0F);
  const auto is_nothing = [&](std::size_t i) {
    return activations[i] < least_magnitude || weights[i] < least_magnitude;
  };
  double log_sum = 0;
  double count = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (is_nothing(i)) continue;
    factors[i] = static_cast<float>(std::pow(activations[i], alpha) / std::pow(weights[i], 1 - alpha));
    log_sum += std::log(factors[i]);
    ++count;
  }
  const auto middle = static_cast<float>(std::exp(log_sum / std::max(1.0, count)));
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (!is_nothing(i)) factors[i] = std::clamp(factors[i] / middle, 1e-3F, 1e3F);
  }
  return factors;
}

/// Works through places one by one; what it finds goes into `changes`.
class Calibrator {
 public:
  Calibrator(const StudiedModel& subject, const StudiedModel& changed, WeightChanges& changes,
             const PrecisionChoice& row)
      : subject_(subject), changes_(changes), trials_(subject, changed, row) {}

  CalibratedPlace calibrate(const LinearPlace& place, const PlaceActivations& activations) {
    const std::vector<Tensor> exact = trials_.exact(place, activations.rows);
    CalibratedPlace result{place.name};
    result.error_before = result.error_after = by_token_error(place, activations.rows, exact);
    const std::vector<float> factors =
        place.is_smoothable ? best_factors(place, activations, exact, result) : std::vector<float>();
    if (place.is_smoothable) settle(place, factors);
    const Tensor rows = factors.empty() ? copy_of(activations.rows) : divided(place, activations.rows, factors);
    if (trials_.has_static_scales())
      choose_scale({place, rows, most_of(divided(place, activations.largest, factors))}, exact, result);
    correct_biases(place, exact, trials_.low(place, rows, result.scale.scale));
    return result;
  }

 private:
  /// With the changes as they are now.
  double by_token_error(const LinearPlace& place, const Tensor& rows, const std::vector<Tensor>& exact) const {
    return relative_error(exact, trials_.low(place, rows, by_token));
  }

  /// Empty where none makes the error less by least_gain.
  std::vector<float> best_factors(const LinearPlace& place, const PlaceActivations& activations,
                                  const std::vector<Tensor>& exact, CalibratedPlace& result) {
    double least = result.error_before * (1 - least_gain);
    std::vector<float> best;
    const std::vector<float> x = by_row(place, activations.largest);
    const std::vector<float> w = by_row(place, largest_of_columns(subject_.model.weights, place));
    for (const double alpha : alphas) {
      std::vector<float> factors = factors_for(alpha, x, w);
      set_columns(place, factors);
      const double error = by_token_error(place, divided(place, activations.rows, factors), exact);
      if (error >= least) continue;
      result.alpha = alpha;
      result.is_smoothed = true;
      result.error_after = least = error;
      best = std::move(factors);
    }
    return best;
  }

  void choose_scale(const RowsAtPlace& at, const std::vector<Tensor>& exact, CalibratedPlace& result) const {
    result.scale = {"by token", by_token};
    double least = most_of_error_by_token * result.error_after;
    for (const StaticScale& choice : scale_choices(values_in(at.rows), at.largest)) {
      const double error = relative_error(exact, trials_.low(at.place, at.rows, choice.scale));
      if (error >= least) continue;
      result.scale = choice;
      result.error_after = least = error;
    }
  }

  /// Each matrix's columns times the factor of the row that the channel comes from.
  void set_columns(const LinearPlace& place, const std::vector<float>& factors) {
    std::vector<float> columns;
    columns.reserve(place.channels.size());
    for (const std::int32_t row : place.channels) columns.push_back(factors[static_cast<std::size_t>(row)]);
    for (const std::string& name : place.matrices) changes_[name].by_column = columns;
  }

  /// The factors stay in the matrices and divide what the value comes from.
  void settle(const LinearPlace& place, const std::vector<float>& factors) {
    if (factors.empty()) {
      for (const std::string& name : place.matrices) changes_[name].by_column.clear();
      return;
    }
    set_columns(place, factors);
    std::vector<float> inverse = factors;
    for (float& factor : inverse) factor = 1 / factor;
    for (const std::string& name : place.divided) changes_[name].by_row = inverse;
  }

  static std::span<const float> values_in(const Tensor& rows) {
    return {rows.as<float>(), static_cast<std::size_t>(rows.count())};
  }

  static float most_of(const std::vector<float>& magnitudes) {
    return *std::max_element(magnitudes.begin(), magnitudes.end());
  }

  static Tensor copy_of(const Tensor& rows) {
    Tensor copy(DType::f32, rows.shape());
    std::copy_n(rows.data(), rows.bytes(), copy.data());
    return copy;
  }

  static Tensor divided(const LinearPlace& place, const Tensor& rows, const std::vector<float>& factors) {
    Tensor result(DType::f32, rows.shape());
    const std::size_t width = place.channels.size();
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows.count()); ++i)
      result.as<float>()[i] = rows.as<float>()[i] / factors[static_cast<std::size_t>(place.channels[i % width])];
    return result;
  }
  /// Of channels; without factors they stay.
  static std::vector<float> divided(const LinearPlace& place, std::vector<float> channels,
                                    const std::vector<float>& factors) {
    for (std::size_t c = 0; c < channels.size() && !factors.empty(); ++c)
      channels[c] /= factors[static_cast<std::size_t>(place.channels[c])];
    return channels;
  }

  void correct_biases(const LinearPlace& place, const std::vector<Tensor>& exact, const std::vector<Tensor>& low) {
    for (std::size_t i = 0; i < place.layers.size(); ++i) {
      const Node& layer = subject_.built.nodes[place.layers[i]];
      if (layer.inputs.size() < 3 || layer.inputs[2] == no_value || layer.attributes.activation != Activation::none)
        continue;
      changes_[subject_.built.value(layer.inputs[2]).name].added = mean_error(exact[i], low[i]);
    }
  }

  /// exact - low, by column.
  static std::vector<float> mean_error(const Tensor& exact, const Tensor& low) {
    const auto width = static_cast<std::size_t>(exact.shape().back());
    std::vector<double> sums(width);
    for (std::size_t i = 0; i < static_cast<std::size_t>(exact.count()); ++i)
      sums[i % width] += exact.as<float>()[i] - low.as<float>()[i];
    std::vector<float> means;
    means.reserve(width);
    const auto rows = static_cast<double>(exact.count()) / static_cast<double>(width);
    for (const double sum : sums) means.push_back(static_cast<float>(sum / rows));
    return means;
  }

  const StudiedModel& subject_;
  WeightChanges& changes_;
  LayerTrials trials_;
};

/// A bias is read by one layer; a matrix of a place that stays as it is needs no entry, but its bias does.
void name_changes(const Program& built, const std::vector<LinearPlace>& places, WeightChanges& changes) {
  for (const LinearPlace& place : places) {
    if (place.is_smoothable) {
      for (const std::string& name : place.matrices) changes[name];
      for (const std::string& name : place.divided) changes[name];
    }
    for (const std::size_t n : place.layers) {
      const Node& layer = built.nodes[n];
      if (layer.inputs.size() > 2 && layer.inputs[2] != no_value) changes[built.value(layer.inputs[2]).name];
    }
  }
}

ActivationScales scales_of(const Program& built, const std::vector<LinearPlace>& places,
                           const std::vector<CalibratedPlace>& found) {
  ActivationScales scales;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].scale.scale == by_token) continue;
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

/// Of the ids, whatever file they came from.
std::string hash_of_ids(const QualitySet& set) {
  std::vector<std::int32_t> ids;
  for (const QualityBatch& batch : set.batches) ids.insert(ids.end(), batch.ids.begin(), batch.ids.end());
  return sha256_hex(std::as_bytes(std::span(ids))).substr(0, 16);
}

}  // namespace

Calibration calibrate(const Model& model, const CalibrationRequest& request, const MachineFacts& facts,
                      const StudyCallbacks& callbacks) {
  const QualitySet set = calibration_set(model, request);
  SensitivityRequest sensitivity;
  sensitivity.models = {model.name};
  sensitivity.precisions = {};
  sensitivity.by = {"layer"};
  sensitivity.engine = engine_for(set, request.engine);
  const StudiedModel subject = studied_model(sensitivity, model, set, facts, callbacks);
  Calibration result;
  result.changes = std::make_shared<WeightChanges>();
  const std::vector<LinearPlace> places = linear_places(subject.built);
  name_changes(subject.built, places, *result.changes);
  Model changed = model;
  changed.weights = changed_weights(model.weights, result.changes);
  const StudiedModel trial = studied_model(sensitivity, changed, set, facts, callbacks);
  const PrecisionChoice row = precision_choice(request.precision, request.engine, facts);
  const std::vector<PlaceActivations> activations = activations_at(subject, places, rows_behind_errors);
  Calibrator calibrator(subject, trial, *result.changes, row);
  for (std::size_t i = 0; i < places.size() && !is_set(callbacks.interrupted); ++i) {
    if (callbacks.progress) callbacks.progress("calibrating " + places[i].name, 0);
    result.places.push_back(calibrator.calibrate(places[i], activations[i]));
  }
  std::erase_if(*result.changes, [](const auto& change) { return change.second == WeightChange{}; });
  const bool is_static = row.row.scheme == Scheme::static_int8;
  if (is_static) result.scales = std::make_shared<ActivationScales>(scales_of(subject.built, places, result.places));
  result.words = fmt::format(
      "SmoothQuant by place for {}, alpha by least error of its own kernels, {}bias correction; {}, {} rows, sha256:{}",
      request.precision,
      is_static ? fmt::format("static scales by the method of least error of them ({}), ", methods_won(result.places))
                : "",
      set.data, set.batches.size(), hash_of_ids(set));
  return result;
}

CalibratedWeights calibrated_weights(const Model& model, const Calibration& calibration) {
  return {changed_weights(model.weights, calibration.changes), calibration.scales, calibration.words};
}

}  // namespace assay
