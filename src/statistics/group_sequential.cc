#include "statistics/group_sequential.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace assay {
namespace {

constexpr int points_a_look = 201;
/// Where fewer samples have come since, as a share of all, the points lie too far apart for the recursion.
constexpr double least_growth = 0.02;

double upper_tail(double z) {
  return std::erfc(z / std::numbers::sqrt2) / 2;
}

}  // namespace

double spent_error(double rate, double share) {
  return rate * std::log1p((std::numbers::e - 1) * std::clamp(share, 0.0, 1.0));
}

/// The probability that the sum now lies beyond ± bound, and no look before has rejected.
double SequentialLevels::crossing(double bound) const {
  double sum = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    sum += masses_[i] * (upper_tail((bound - points_[i]) / step_) + upper_tail((bound + points_[i]) / step_));
  }
  return sum;
}

double SequentialLevels::bound_of(double wanted) const {
  double low = 0;
  double high = 40 * std::sqrt(samples_);  // upper_tail() is 0 in double precision there.
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (crossing(middle) > wanted ? low : high) = middle;
  }
  return high;
}

void SequentialLevels::go_on_within(double bound) {
  const double width = 2 * bound / (points_a_look - 1);
  std::vector<double> points(points_a_look);
  std::vector<double> masses(points_a_look, 0.0);
  for (int k = 0; k < points_a_look; ++k) {
    points[k] = -bound + k * width;
    const double weight = k == 0 || k == points_a_look - 1 ? width / 2 : width;  // The trapezoidal rule.
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const double z = (points[k] - points_[i]) / step_;
      masses[k] += weight * masses_[i] * std::exp(-z * z / 2) / (step_ * std::sqrt(2 * std::numbers::pi));
    }
  }
  points_ = std::move(points);
  masses_ = std::move(masses);
}

double SequentialLevels::next(double samples, double spent) {
  ASSAY_ASSERT(samples > samples_ && spent >= spent_);
  const double more = spent - std::exchange(spent_, spent);
  if (samples - samples_ < least_growth * samples) return more;  // Bonferroni; only a last look comes so soon.
  step_ = std::sqrt(samples - std::exchange(samples_, samples));
  const double bound = bound_of(more);
  go_on_within(bound);
  return std::max(more, 2 * upper_tail(bound / std::sqrt(samples)));
}

}  // namespace assay
