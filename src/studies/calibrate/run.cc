#include "studies/calibrate/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "model/config.h"
#include "model/families.h"
#include "model/own_head.h"
#include "model/stored_values.h"
#include "model/weights.h"
#include "program/passes.h"
#include "program/program.h"
#include "quality/evaluate.h"
#include "studies/calibrate/activations.h"
#include "studies/calibrate/data.h"
#include "studies/calibrate/factors.h"
#include "studies/calibrate/feedback.h"
#include "studies/calibrate/moments.h"
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
/// In the place of a static scale.
constexpr double by_token = 0;
/// A static scale that makes the error larger than so many times that of scales by token is none.
constexpr double most_of_error_by_token = 2;
/// What is not better by so much is not changed: factors cost the exactness of fp32.
constexpr double least_gain = 0.02;

const std::string& matrix_name(const Program& built, std::size_t layer) {
  return built.value(built.nodes[layer].inputs[1]).name;
}

/// Outputs of linear layers in one row, with changed weights.
class LayerTrials {
 public:
  LayerTrials(const StudiedModel& subject, const StudiedModel& changed, const PrecisionChoice& row)
      : subject_(subject), changed_(changed), row_(row) {}

  bool has_static_scales() const { return row_.row.scheme == Scheme::static_int8; }

  /// Of each layer of the place in fp32.
  std::vector<Tensor> exact(const LinearPlace& place, const Tensor& rows) const {
    return outputs_of(subject_, place, subject_.fp32, rows);
  }

  /// The same with the changes as they are now.
  std::vector<Tensor> exact_with_changes(const LinearPlace& place, const Tensor& rows) const {
    return outputs_of(changed_, place, subject_.fp32, rows);
  }

  /// In the row, with the changes as they are now and that scale of the input.
  std::vector<Tensor> low(const LinearPlace& place, const Tensor& rows, double scale) const {
    PrecisionChoice choice = row_;
    const auto scales = std::make_shared<ActivationScales>();
    if (scale != by_token) {
      for (const std::size_t n : place.layers) (*scales)[subject_.built.nodes[n].path] = scale;
    }
    choice.scales = scales;
    return outputs_of(changed_, place, choice, rows);
  }

 private:
  static std::vector<Tensor> outputs_of(const StudiedModel& model, const LinearPlace& place,
                                        const PrecisionChoice& choice, const Tensor& rows) {
    std::vector<Tensor> outputs;
    outputs.reserve(place.layers.size());
    for (const std::size_t n : place.layers) outputs.push_back(output_of(model, n, choice, rows));
    return outputs;
  }

  static Tensor output_of(const StudiedModel& model, std::size_t node, const PrecisionChoice& choice,
                          const Tensor& rows) {
    const Node& linear = model.built.nodes[node];
    PrecisionChoice own = choice;  // What it says of other layers names nothing in this one's program.
    std::erase_if(own.layers, [&](const LayerOverride& one) { return !one.matches(linear.path, linear.role); });
    LayerAlone layer(model, linear, own, {1, rows.shape()[0]});
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

/// Finds the changes of one place after the other; what it finds goes into `changes`. All places are smoothed before
/// any is rounded, since factors of one are rows of another's matrices.
class Calibrator {
 public:
  Calibrator(const StudiedModel& subject, const StudiedModel& changed, WeightChanges& changes,
             const PrecisionChoice& row)
      : subject_(subject), changed_(changed), changes_(changes), trials_(subject, changed, row) {}

  /// Factors of the place, which stay in its matrices and divide what its value comes from; 1 where there are none.
  std::vector<float> smooth(const LinearPlace& place, const PlaceActivations& activations, CalibratedPlace& result) {
    std::vector<float> none(static_cast<std::size_t>(place.width), 1.0F);
    result.name = place.name;
    const std::vector<Tensor> exact = trials_.exact(place, activations.rows);
    result.error_before = result.error_after = by_token_error(place, activations.rows, exact);
    if (!place.is_smoothable) return none;
    const std::vector<float> factors = best_factors(place, activations, exact, result);
    settle(place, factors);
    return factors.empty() ? none : by_channel(place, factors);
  }

  /// Codes with feedback, static scales and corrections of biases, once all factors are known.
  void round(const LinearPlace& place, const PlaceActivations& activations, const std::vector<float>& factors,
             const PlaceMoments& moments, CalibratedPlace& result) {
    const Tensor rows = divided(activations.rows, factors);
    const std::vector<Tensor> exact = trials_.exact_with_changes(place, rows);
    result.error_after = by_token_error(place, rows, exact);
    const double noise = noise_of(activations.rows, moments.column_power, factors);
    choose_codes({place, rows, exact}, divided_moments(moments, factors, noise), result);
    if (trials_.has_static_scales()) {
      std::vector<float> largest = activations.largest;
      for (std::size_t c = 0; c < largest.size(); ++c) largest[c] /= factors[c];
      choose_scale({place, rows, exact}, most_of(largest), result);
    }
    correct_biases(place, exact, trials_.low(place, rows, result.scale.scale));
  }

  /// sum_i W_ic^2 over the layers of the place, as the checkpoint has them.
  std::vector<double> column_power(const LinearPlace& place) const {
    std::vector<double> power(static_cast<std::size_t>(place.width));
    for (const Tensor& matrix : matrices(subject_, place)) {
      for (std::int64_t i = 0; i < matrix.count(); ++i)
        power[static_cast<std::size_t>(i % place.width)] +=
            static_cast<double>(matrix.as<float>()[i]) * matrix.as<float>()[i];
    }
    return power;
  }

 private:
  /// Rows at a place as its layers read them, and what these make of them without rounding.
  struct RowsAtPlace {
    const LinearPlace& place;
    const Tensor& rows;
    const std::vector<Tensor>& exact;
  };

  /// Of each layer, with the model's changes as they are now.
  static std::vector<Tensor> matrices(const StudiedModel& model, const LinearPlace& place) {
    std::vector<Tensor> result;
    result.reserve(place.layers.size());
    for (const std::size_t n : place.layers) result.push_back(copy_of(matrix_of(model, n).view));
    return result;
  }
  static WeightData matrix_of(const StudiedModel& model, std::size_t layer) {
    return in_f32(model.model.weights.at(matrix_name(model.built, layer)).load());
  }

  /// With the changes as they are now.
  double by_token_error(const LinearPlace& place, const Tensor& rows, const std::vector<Tensor>& exact) const {
    return relative_error(exact, trials_.low(place, rows, by_token));
  }

  /// Those of the least error among alphas, then what descent from there finds. Empty where none makes the error less
  /// by least_gain.
  std::vector<float> best_factors(const LinearPlace& place, const PlaceActivations& activations,
                                  const std::vector<Tensor>& exact, CalibratedPlace& result) {
    std::vector<float> best;
    double least = result.error_before * (1 - least_gain);
    const auto try_factors = [&](std::vector<float> factors, double alpha) {
      set_columns(place, factors);
      const double error = by_token_error(place, divided(activations.rows, by_channel(place, factors)), exact);
      if (error >= least) return;
      result.alpha = alpha;
      result.is_smoothed = true;
      result.error_after = least = error;
      best = std::move(factors);
    };
    const std::vector<float> x = by_row(place, activations.largest);
    const std::vector<float> w = by_row(place, largest_of_columns(subject_.model.weights, place));
    for (const double alpha : alphas) try_factors(smoothing_factors(alpha, x, w), alpha);
    const std::vector<Tensor> undivided = matrices(subject_, place);
    const FactorProblem problem{place, activations.rows, undivided, exact};
    const std::vector<float> start = best.empty() ? std::vector<float>(x.size(), 1.0F) : best;
    try_factors(descended_factors(problem, start), result.alpha);
    return best;
  }

  /// Whether no linear layer elsewhere multiplies a matrix of the place: codes are made for one input.
  bool owns_its_matrices(const LinearPlace& place) const {
    const auto of_place = [&](std::size_t n) { return std::ranges::find(place.layers, n) != place.layers.end(); };
    for (std::size_t n = 0; n < subject_.built.nodes.size(); ++n) {
      if (subject_.built.nodes[n].operation != &op::linear || of_place(n)) continue;
      const std::string& name = matrix_name(subject_.built, n);
      for (const std::size_t own : place.layers) {
        if (matrix_name(subject_.built, own) == name) return false;
      }
    }
    return true;
  }

  /// Those with feedback where they make the error of the layers less.
  void choose_codes(const RowsAtPlace& at, const Tensor& moments, CalibratedPlace& result) {
    if (!owns_its_matrices(at.place)) return;
    const ErrorFeedback feedback(moments);
    for (const std::size_t n : at.place.layers)
      changes_[matrix_name(subject_.built, n)].codes = feedback.rounded(copy_of(matrix_of(changed_, n).view));
    const double error = by_token_error(at.place, at.rows, at.exact);
    result.is_fed_back = error < result.error_after;
    if (result.is_fed_back) {
      result.error_after = error;
      return;
    }
    for (const std::size_t n : at.place.layers) changes_[matrix_name(subject_.built, n)].codes = {};
  }

  /// What rounding a row of x, divided, adds to each channel's square, over the power of what the layers make of it; a
  /// mean over rows.
  static double noise_of(const Tensor& rows, const std::vector<double>& power, const std::vector<float>& factors) {
    const std::size_t width = power.size();
    double sum = 0;
    const auto count = static_cast<std::size_t>(rows.shape()[0]);
    for (std::size_t t = 0; t < count; ++t) {
      const float* const row = rows.as<float>() + t * width;
      double most = 0;
      double of_row = 0;
      for (std::size_t c = 0; c < width; ++c) {
        most = std::max(most, static_cast<double>(std::abs(row[c] / factors[c])));
        of_row += static_cast<double>(row[c]) * row[c] * power[c];
      }
      const double step = most / 127;
      if (of_row > 0) sum += step * step / 12 / of_row;
    }
    return sum / static_cast<double>(std::max<std::size_t>(1, count));
  }

  static Tensor divided_moments(const PlaceMoments& moments, const std::vector<float>& factors, double noise) {
    Tensor result(DType::f32, moments.sum.shape());
    const std::size_t width = factors.size();
    for (std::size_t i = 0; i < width; ++i) {
      for (std::size_t j = 0; j < width; ++j) {
        const std::size_t at = i * width + j;
        result.as<float>()[at] = moments.sum.as<float>()[at] / (factors[i] * factors[j]);
      }
      result.as<float>()[i * width + i] += static_cast<float>(noise * moments.rows);
    }
    return result;
  }

  void choose_scale(const RowsAtPlace& at, float largest, CalibratedPlace& result) const {
    result.scale = {"by token", by_token};
    double least = most_of_error_by_token * result.error_after;
    for (const StaticScale& choice : scale_choices(values_in(at.rows), largest)) {
      const double error = relative_error(at.exact, trials_.low(at.place, at.rows, choice.scale));
      if (error >= least) continue;
      result.scale = choice;
      result.error_after = least = error;
    }
  }

  static std::vector<float> by_channel(const LinearPlace& place, const std::vector<float>& factors) {
    std::vector<float> channels;
    channels.reserve(place.channels.size());
    for (const std::int32_t row : place.channels) channels.push_back(factors[static_cast<std::size_t>(row)]);
    return channels;
  }

  /// Each matrix's columns times the factor of the row that the channel comes from.
  void set_columns(const LinearPlace& place, const std::vector<float>& factors) {
    for (const std::string& name : place.matrices) changes_[name].by_column = by_channel(place, factors);
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
    for (const DividedParameter& parameter : place.divided) {
      WeightChange& change = changes_[parameter.name];
      change.by_row = inverse;
      change.offset = static_cast<float>(parameter.offset);
    }
  }

  static std::span<const float> values_in(const Tensor& rows) {
    return {rows.as<float>(), static_cast<std::size_t>(rows.count())};
  }

  static float most_of(const std::vector<float>& magnitudes) {
    return *std::max_element(magnitudes.begin(), magnitudes.end());
  }

  static Tensor copy_of(const TensorView& values) {
    Tensor copy(DType::f32, values.shape);
    std::copy_n(values.data, values.bytes(), copy.data());
    return copy;
  }

  static Tensor divided(const Tensor& rows, const std::vector<float>& factors) {
    Tensor result(DType::f32, rows.shape());
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows.count()); ++i)
      result.as<float>()[i] = rows.as<float>()[i] / factors[i % factors.size()];
    return result;
  }

  /// What is added to a bias is multiplied with it by the factors of its rows.
  void correct_biases(const LinearPlace& place, const std::vector<Tensor>& exact, const std::vector<Tensor>& low) {
    for (std::size_t i = 0; i < place.layers.size(); ++i) {
      const Node& layer = subject_.built.nodes[place.layers[i]];
      if (layer.inputs.size() < 3 || layer.inputs[2] == no_value || layer.attributes.activation != Activation::none)
        continue;
      WeightChange& bias = changes_[subject_.built.value(layer.inputs[2]).name];
      bias.added = mean_error(exact[i], low[i]);
      for (std::size_t j = 0; j < bias.by_row.size(); ++j) bias.added[j] /= bias.by_row[j];
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
  const StudiedModel& changed_;
  WeightChanges& changes_;
  LayerTrials trials_;
};

/// What calibration may change.
void name_changes(const Program& built, const std::vector<LinearPlace>& places, WeightChanges& changes) {
  for (const LinearPlace& place : places) {
    for (const std::size_t n : place.layers) changes[matrix_name(built, n)];
    if (place.is_smoothable) {
      for (const std::string& name : place.matrices) changes[name];
      for (const DividedParameter& parameter : place.divided) changes[parameter.name];
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

/// What is known of places before they are rounded.
struct SmoothedPlaces {
  std::span<const LinearPlace> places;
  std::span<const PlaceActivations> activations;
  std::span<const std::vector<float>> factors;
};

/// As many at once as have room for their moments.
void round_places(Calibrator& calibrator, const StudiedModel& subject, const SmoothedPlaces& all,
                  std::vector<CalibratedPlace>& results) {
  std::size_t first = 0;
  while (first < all.places.size() && !is_set(subject.callbacks.interrupted)) {
    const auto places = all.places.subspan(first, places_at_once(all.places.subspan(first)));
    std::vector<std::vector<double>> power;
    power.reserve(places.size());
    for (const LinearPlace& place : places) power.push_back(calibrator.column_power(place));
    const std::vector<PlaceMoments> moments = moments_at(subject, places, power);
    for (std::size_t i = 0; i < places.size() && !is_set(subject.callbacks.interrupted); ++i) {
      if (subject.callbacks.progress) subject.callbacks.progress("codes of " + places[i].name, 0);
      calibrator.round(places[i], all.activations[first + i], all.factors[first + i], moments[i], results[first + i]);
    }
    first += places.size();
  }
}

/// Whether it is tied, and its row rounds what it multiplies.
bool head_is_quantised(const Model& model, const PrecisionChoice& row) {
  if (!model.config.tied_head || !predicts_tokens(model.config.task)) return false;
  const Program built = build_program(model.config, {});
  const std::string table = model.config.family->tensors->embedding;
  return std::any_of(built.nodes.begin(), built.nodes.end(), [&](const Node& node) {
    if (node.operation != &op::linear || built.value(node.inputs[1]).name != table) return false;
    const LayerOverride* const layer = layer_override(row, node);
    if (layer != nullptr) return takes_calibration(layer->row.scheme);
    return takes_calibration(row.row.scheme) && !row.override_for(node.role);
  });
}

/// A table of its own is worth its bytes where it has factors: without, what was found for it is the shared table's.
HeadTable settled_head(const Model& tied, WeightChanges& changes) {
  const TensorNames& names = *tied.config.family->tensors;
  const auto head = changes.find(names.head);
  if (head == changes.end()) return HeadTable::shared;
  if (!head->second.by_column.empty()) return HeadTable::own;
  auto found = changes.extract(head);
  found.key() = names.embedding;
  changes.insert(std::move(found));
  return HeadTable::shared;
}

std::string method_words(const CalibrationRequest& request, const Calibration& found, const std::string& data) {
  return fmt::format(
      "SmoothQuant by place for {}, factors by descent and least error of its own kernels, codes with error feedback "
      "(GPTQ), {}bias correction{}; {}",
      request.precision,
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
  const std::optional<Model> apart = head_is_quantised(asked, row) ? with_own_head(asked) : std::nullopt;
  const Model& model = apart ? *apart : asked;
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
  const std::vector<PlaceActivations> activations = activations_at(subject, places, rows_behind_errors);
  Calibrator calibrator(subject, trial, *result.changes, row);
  result.places.resize(places.size());
  std::vector<std::vector<float>> factors(places.size());
  for (std::size_t i = 0; i < places.size() && !is_set(callbacks.interrupted); ++i) {
    if (callbacks.progress) callbacks.progress("factors of " + places[i].name, 0);
    factors[i] = calibrator.smooth(places[i], activations[i], result.places[i]);
  }
  round_places(calibrator, subject, {places, activations, factors}, result.places);
  std::erase_if(*result.changes, [](const auto& change) { return change.second == WeightChange{}; });
  if (apart) result.head = settled_head(asked, *result.changes);
  if (row.row.scheme == Scheme::static_int8)
    result.scales = std::make_shared<ActivationScales>(scales_of(subject.built, places, result.places));
  result.words = method_words(request, result, calibration_words(set));
  return result;
}

CalibratedWeights calibrated_weights(const Model& model, const Calibration& calibration) {
  const std::optional<Model> apart = calibration.head == HeadTable::own ? with_own_head(model) : std::nullopt;
  const Model& base = apart ? *apart : model;
  return {changed_weights(base.weights, calibration.changes), base.config, calibration.scales, calibration.words};
}

}  // namespace assay
