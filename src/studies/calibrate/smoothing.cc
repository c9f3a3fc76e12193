#include "studies/calibrate/smoothing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "studies/calibrate/factors.h"
#include "studies/calibrate/parameters.h"
#include "tensor/tensor.h"

namespace assay {
namespace {

/// 0 and 1 put all of the difficulty on one side; the published optimum of most models lies between.
constexpr double alphas[] = {0.25, 0.4, 0.5, 0.6, 0.75, 0.9};
/// What is not better by so much is not changed: factors cost the exactness of fp32.
constexpr double least_gain = 0.02;

/// Those of a place by row of what is divided; none: the place stays as it was.
struct PlaceFactors {
  std::vector<float> by_row = {};
  double alpha = 0;
  double error = 0;
};

/// Largest magnitude of each column over all matrices.
std::vector<float> largest_of_columns(const std::vector<Tensor>& matrices, std::size_t width) {
  std::vector<float> largest(width);
  for (const Tensor& matrix : matrices) {
    for (std::int64_t i = 0; i < matrix.count(); ++i) {
      float& most = largest[static_cast<std::size_t>(i) % width];
      most = std::max(most, std::abs(matrix.as<float>()[i]));
    }
  }
  return largest;
}

/// Of rows: the largest of the channels that come from each.
std::vector<float> largest_by_row(const LinearPlace& place, const std::vector<float>& by_channel) {
  std::vector<float> rows(static_cast<std::size_t>(place.rows));
  for (std::size_t c = 0; c < by_channel.size(); ++c) {
    float& row = rows[static_cast<std::size_t>(place.channels[c])];
    row = std::max(row, by_channel[c]);
  }
  return rows;
}

/// Of each channel: what the row has that it comes from.
std::vector<float> by_channel(const LinearPlace& place, const std::vector<float>& by_row) {
  std::vector<float> channels;
  channels.reserve(place.channels.size());
  for (const std::int32_t row : place.channels) channels.push_back(by_row[static_cast<std::size_t>(row)]);
  return channels;
}

/// With these factors in the matrices, where they stay.
double error_with(const ModelTrial& trial, const RowsAtPlace& undivided, const std::vector<float>& factors) {
  const std::vector<float> channels = by_channel(undivided.place, factors);
  for (const std::string& name : undivided.place.matrices) trial.changes[name].by_column = channels;
  return low_error(trial, {undivided.place, divided_rows(undivided.rows, channels), undivided.exact}, scale_by_row);
}

/// None where the error stays above `most`.
PlaceFactors best_factors(const ModelTrial& trial, const RowsAtPlace& at, const std::vector<float>& largest,
                          double most) {
  PlaceFactors best{.error = most};
  const auto attempt = [&](std::vector<float> factors, double alpha) {
    const double error = error_with(trial, at, factors);
    if (error >= best.error) return;
    best = {std::move(factors), alpha, error};
  };
  const std::vector<Tensor> matrices = matrices_of(trial.subject, at.place);
  const std::vector<float> x = largest_by_row(at.place, largest);
  const std::vector<float> w = largest_by_row(at.place, largest_of_columns(matrices, largest.size()));
  for (const double alpha : alphas) attempt(smoothing_factors(alpha, x, w), alpha);
  const std::vector<float> start = best.by_row.empty() ? std::vector<float>(x.size(), 1.0F) : best.by_row;
  attempt(descended_factors({at.place, at.rows, matrices, at.exact}, start), best.alpha);
  return best;
}

void leave_as_it_was(const ModelTrial& trial, const LinearPlace& place) {
  for (const std::string& name : place.matrices) trial.changes[name].by_column.clear();
}

/// The factors stay in the matrices and divide what the value comes from.
void settle(const ModelTrial& trial, const LinearPlace& place, const std::vector<float>& factors) {
  for (const std::string& name : place.matrices) trial.changes[name].by_column = by_channel(place, factors);
  std::vector<float> inverse = factors;
  for (float& factor : inverse) factor = 1 / factor;
  for (const DividedParameter& parameter : place.divided) {
    WeightChange& change = trial.changes[parameter.name];
    change.by_row = inverse;
    change.offset = static_cast<float>(parameter.offset);
  }
}

}  // namespace

std::vector<float> smooth_place(const ModelTrial& trial, const LinearPlace& place, const PlaceActivations& activations,
                                CalibratedPlace& result) {
  std::vector<float> ones(static_cast<std::size_t>(place.width), 1.0F);
  const std::vector<Tensor> exact = exact_outputs(trial.subject, place, activations.rows);
  const RowsAtPlace at{place, activations.rows, exact};
  result.name = place.name;
  result.error_before = result.error_after = low_error(trial, at, scale_by_row);
  if (!place.is_smoothable) return ones;
  const PlaceFactors best = best_factors(trial, at, activations.largest, result.error_before * (1 - least_gain));
  if (best.by_row.empty()) {
    leave_as_it_was(trial, place);
    return ones;
  }
  settle(trial, place, best.by_row);
  result.alpha = best.alpha;
  result.is_smoothed = true;
  result.error_after = best.error;
  return by_channel(place, best.by_row);
}

}  // namespace assay
