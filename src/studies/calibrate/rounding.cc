#include "studies/calibrate/rounding.h"

#include <algorithm>
#include <cstddef>

#include "base/interrupt.h"
#include "program/operation.h"
#include "studies/calibrate/biases.h"
#include "studies/calibrate/factors.h"
#include "studies/calibrate/feedback.h"
#include "studies/calibrate/moments.h"
#include "studies/calibrate/parameters.h"
#include "studies/calibrate/scales.h"
#include "tensor/tensor.h"

namespace assay {
namespace {

/// A static scale that makes the error larger than so many times that of a scale a row is none.
constexpr double most_of_error_by_row = 2;

/// What is known of a place before it is rounded.
struct SmoothedPlace {
  const LinearPlace& place;
  const PlaceActivations& activations;
  const std::vector<float>& factors;
};

/// Whether no linear layer elsewhere multiplies a matrix of the place: codes are made for one input.
bool owns_its_matrices(const Program& built, const LinearPlace& place) {
  const auto is_of_place = [&](std::size_t n) { return std::ranges::find(place.layers, n) != place.layers.end(); };
  for (std::size_t n = 0; n < built.nodes.size(); ++n) {
    if (built.nodes[n].operation != &op::linear || is_of_place(n)) continue;
    const std::string& name = matrix_name(built, n);
    if (std::ranges::any_of(place.layers, [&](std::size_t own) { return matrix_name(built, own) == name; }))
      return false;
  }
  return true;
}

/// Those with feedback where they make the error of the layers less. `moments`: as ErrorFeedback takes them.
void choose_codes(const ModelTrial& trial, const RowsAtPlace& at, const Tensor& moments, CalibratedPlace& result) {
  const Program& built = trial.subject.built;
  if (!owns_its_matrices(built, at.place)) return;
  const ErrorFeedback feedback(moments);
  for (const std::size_t n : at.place.layers)
    trial.changes[matrix_name(built, n)].codes = feedback.rounded(matrix_of(trial.changed, n));
  const double error = low_error(trial, at, scale_by_row);
  result.is_fed_back = error < result.error_after;
  if (result.is_fed_back) {
    result.error_after = error;
    return;
  }
  for (const std::size_t n : at.place.layers) trial.changes[matrix_name(built, n)].codes = {};
}

/// Magnitude of what the layers read.
float largest_read(const SmoothedPlace& smoothed) {
  float largest = 0;
  for (std::size_t c = 0; c < smoothed.factors.size(); ++c)
    largest = std::max(largest, smoothed.activations.largest[c] / smoothed.factors[c]);
  return largest;
}

void choose_scale(const ModelTrial& trial, const RowsAtPlace& at, float largest, CalibratedPlace& result) {
  result.scale = {"by token", scale_by_row};
  double least = most_of_error_by_row * result.error_after;
  const std::span values(at.rows.as<float>(), static_cast<std::size_t>(at.rows.count()));
  for (const StaticScale& choice : scale_choices(values, largest)) {
    const double error = low_error(trial, at, choice.scale);
    if (error >= least) continue;
    result.scale = choice;
    result.error_after = least = error;
  }
}

void round_place(const ModelTrial& trial, const SmoothedPlace& smoothed, const PlaceMoments& moments,
                 CalibratedPlace& result) {
  const LinearPlace& place = smoothed.place;
  const Tensor rows = divided_rows(smoothed.activations.rows, smoothed.factors);
  const std::vector<Tensor> exact = exact_outputs(trial.changed, place, rows);
  const RowsAtPlace at{place, rows, exact};
  result.error_after = low_error(trial, at, scale_by_row);
  choose_codes(trial, at, moments_of_rounded(moments, smoothed.activations.rows, smoothed.factors), result);
  if (trial.row.row.scheme == Scheme::static_int8) choose_scale(trial, at, largest_read(smoothed), result);
  correct_biases(trial, at, result.scale.scale);
}

}  // namespace

void round_places(const ModelTrial& trial, std::span<const LinearPlace> places,
                  std::span<const PlaceActivations> activations, std::span<const std::vector<float>> factors,
                  std::span<CalibratedPlace> results) {
  const StudyCallbacks& callbacks = trial.subject.callbacks;
  std::size_t first = 0;
  while (first < places.size() && !is_set(callbacks.interrupted)) {
    const std::size_t count = places_at_once(places.subspan(first));
    const std::vector<PlaceMoments> moments = moments_at(trial.subject, places.subspan(first, count));
    for (std::size_t i = first; i < first + count && !is_set(callbacks.interrupted); ++i) {
      if (callbacks.progress) callbacks.progress("codes of " + places[i].name, 0);
      round_place(trial, {places[i], activations[i], factors[i]}, moments[i - first], results[i]);
    }
    first += count;
  }
}

}  // namespace assay
