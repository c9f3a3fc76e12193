#include "studies/calibrate/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/hash.h"
#include "model/stored_values.h"
#include "studies/calibrate/activations.h"
#include "studies/sensitivity/alone.h"
#include "studies/shared/quality_data.h"

namespace assay {
namespace {

constexpr std::int64_t rows_behind_errors = 128;
/// 0 and 1 put all of the difficulty on one side; the published optimum of most models lies between.
constexpr double alphas[] = {0.25, 0.4, 0.5, 0.6, 0.75, 0.9};
/// A channel that is nothing stays as it is.
constexpr float least_magnitude = 1e-5F;
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

/// Errors of linear layers in one row, with changed weights.
class LayerTrials {
 public:
  LayerTrials(const StudiedModel& subject, const StudiedModel& changed, const PrecisionChoice& row)
      : subject_(subject), changed_(changed), row_(row) {}

  /// Outputs of each layer of the place in fp32.
  std::vector<Tensor> exact(const SmoothPlace& place, const Tensor& rows) const {
    std::vector<Tensor> outputs;
    outputs.reserve(place.layers.size());
    for (const std::size_t n : place.layers) outputs.push_back(output_of(subject_, n, subject_.fp32, rows));
    return outputs;
  }

  /// In the row, with the changes as they are now.
  std::vector<Tensor> low(const SmoothPlace& place, const Tensor& rows) const {
    std::vector<Tensor> outputs;
    outputs.reserve(place.layers.size());
    for (const std::size_t n : place.layers) outputs.push_back(output_of(changed_, n, row_, rows));
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

double relative_error(const std::vector<Tensor>& exact, const std::vector<Tensor>& low) {
  double sum = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    double power = 0;
    double noise = 0;
    for (std::int64_t j = 0; j < exact[i].count(); ++j) {
      const double value = exact[i].as<float>()[j];
      const double difference = low[i].as<float>()[j] - value;
      power += value * value;
      noise += difference * difference;
    }
    sum += power > 0 ? noise / power : 0;
  }
  return sum / static_cast<double>(exact.size());
}

/// Largest magnitude of each column over all matrices.
std::vector<float> largest_of_columns(const Weights& weights, const SmoothPlace& place) {
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
std::vector<float> by_row(const SmoothPlace& place, const std::vector<float>& by_channel) {
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

class Smoother {
 public:
  Smoother(const StudiedModel& subject, const StudiedModel& changed, WeightChanges& changes, const PrecisionChoice& row)
      : subject_(subject), changes_(changes), trials_(subject, changed, row) {}

  SmoothedPlace smooth(const SmoothPlace& place, const PlaceActivations& activations) {
    const std::vector<Tensor> exact = trials_.exact(place, activations.rows);
    SmoothedPlace best{place.name};
    best.error_before = relative_error(exact, trials_.low(place, activations.rows));
    best.error_after = best.error_before * (1 - least_gain);
    std::vector<float> best_factors;
    const std::vector<float> x = by_row(place, activations.largest);
    const std::vector<float> w = by_row(place, largest_of_columns(subject_.model.weights, place));
    for (const double alpha : alphas) {
      const std::vector<float> factors = factors_for(alpha, x, w);
      set_columns(place, factors);
      const double error = relative_error(exact, trials_.low(place, divided(place, activations.rows, factors)));
      if (error >= best.error_after) continue;
      best.alpha = alpha;
      best.error_after = error;
      best.is_smoothed = true;
      best_factors = factors;
    }
    if (!best.is_smoothed) best.error_after = best.error_before;
    settle(place, best_factors);
    correct_biases(place, exact, activations.rows, best_factors);
    return best;
  }

 private:
  /// Each matrix's columns times the factor of the row that the channel comes from.
  void set_columns(const SmoothPlace& place, const std::vector<float>& factors) {
    std::vector<float> columns;
    columns.reserve(place.channels.size());
    for (const std::int32_t row : place.channels) columns.push_back(factors[static_cast<std::size_t>(row)]);
    for (const std::string& name : place.matrices) changes_[name].by_column = columns;
  }

  /// The best factors stay in the matrices and divide what the value comes from.
  void settle(const SmoothPlace& place, const std::vector<float>& factors) {
    if (factors.empty()) {
      for (const std::string& name : place.matrices) changes_[name].by_column.clear();
      return;
    }
    set_columns(place, factors);
    std::vector<float> inverse = factors;
    for (float& factor : inverse) factor = 1 / factor;
    for (const std::string& name : place.divided) changes_[name].by_row = inverse;
  }

  static Tensor divided(const SmoothPlace& place, const Tensor& rows, const std::vector<float>& factors) {
    Tensor result(DType::f32, rows.shape());
    const std::size_t width = place.channels.size();
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows.count()); ++i)
      result.as<float>()[i] = rows.as<float>()[i] / factors[static_cast<std::size_t>(place.channels[i % width])];
    return result;
  }

  void correct_biases(const SmoothPlace& place, const std::vector<Tensor>& exact, const Tensor& rows,
                      const std::vector<float>& factors) {
    const std::vector<Tensor> low =
        trials_.low(place, factors.empty() ? divided(place, rows, ones(place)) : divided(place, rows, factors));
    for (std::size_t i = 0; i < place.layers.size(); ++i) {
      const Node& layer = subject_.built.nodes[place.layers[i]];
      if (layer.inputs.size() < 3 || layer.inputs[2] == no_value || layer.attributes.activation != Activation::none)
        continue;
      changes_[subject_.built.value(layer.inputs[2]).name].added = mean_error(exact[i], low[i]);
    }
  }

  static std::vector<float> ones(const SmoothPlace& place) {
    return std::vector<float>(static_cast<std::size_t>(place.rows), 1.0F);
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
  const std::vector<SmoothPlace> places = smooth_places(subject.built);
  for (const SmoothPlace& place : places) {
    for (const std::string& name : place.matrices) (*result.changes)[name];
    for (const std::string& name : place.divided) (*result.changes)[name];
  }
  Model changed = model;
  changed.weights = changed_weights(model.weights, result.changes);
  const StudiedModel trial = studied_model(sensitivity, changed, set, facts, callbacks);
  const PrecisionChoice row = precision_choice(request.precision, request.engine, facts);
  const std::vector<PlaceActivations> activations = activations_at(subject, places, rows_behind_errors);
  Smoother smoother(subject, trial, *result.changes, row);
  for (std::size_t i = 0; i < places.size() && !is_set(callbacks.interrupted); ++i) {
    if (callbacks.progress) callbacks.progress("calibrating " + places[i].name, 0);
    result.places.push_back(smoother.smooth(places[i], activations[i]));
  }
  std::erase_if(*result.changes, [](const auto& change) { return change.second == WeightChange{}; });
  result.words = fmt::format(
      "SmoothQuant by place for {}, alpha by least error of its own kernels, bias correction; {}, "
      "{} rows, sha256:{}",
      request.precision, set.data, set.batches.size(), hash_of_ids(set));
  return result;
}

}  // namespace assay
