#include "studies/calibrate/scales.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace assay {
namespace {

constexpr std::size_t bins = 2048;
constexpr double steps = 127;
/// Levels of magnitudes that entropy merges bins into: 0 and the steps.
constexpr std::size_t levels = 128;
constexpr std::size_t bins_between_tries = 16;

/// How often magnitudes fall into each of equal bins from 0 to the largest.
class MagnitudeHistogram {
 public:
  explicit MagnitudeHistogram(std::span<const float> values) : counts_(bins) {
    float most = 0;
    for (const float value : values) most = std::max(most, std::abs(value));
    bin_width_ = static_cast<double>(most) / bins;
    if (bin_width_ <= 0) return;
    for (const float value : values)
      ++counts_[std::min(bins - 1, static_cast<std::size_t>(std::abs(value) / bin_width_))];
    total_ = static_cast<double>(values.size());
  }

  bool is_empty() const { return total_ == 0; }
  double edge(std::size_t bin) const { return static_cast<double>(bin) * bin_width_; }

  /// Below it lies that share of the magnitudes.
  double percentile(double share) const {
    double below = 0;
    for (std::size_t bin = 0; bin < bins; ++bin) {
      below += counts_[bin];
      if (below >= share * total_) return edge(bin + 1);
    }
    return edge(bins);
  }

  /// Sum of squares that rounding to steps of `scale` leaves, by the middles of bins.
  double squared_error(double scale) const {
    double sum = 0;
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const double middle = (static_cast<double>(bin) + 0.5) * bin_width_;
      const double error = middle - std::min(std::nearbyint(middle / scale), steps) * scale;
      sum += counts_[bin] * error * error;
    }
    return sum;
  }

  /// Divergence of the first `kept` bins, the others cut off into the last of them, from what is left of them when
  /// equal stretches are merged into `levels` and spread again over their bins that are not empty.
  double divergence(std::size_t kept) const {
    double cut = 0;
    for (std::size_t bin = kept; bin < bins; ++bin) cut += counts_[bin];
    double sum = 0;
    for (std::size_t level = 0; level < levels; ++level) sum += divergence_of_level(level, kept, cut);
    return sum;
  }

 private:
  double divergence_of_level(std::size_t level, std::size_t kept, double cut) const {
    const std::size_t begin = level * kept / levels;
    const std::size_t end = (level + 1) * kept / levels;
    double merged = 0;
    double filled = 0;
    for (std::size_t bin = begin; bin < end; ++bin) {
      merged += counts_[bin];
      filled += counts_[bin] > 0 ? 1 : 0;
    }
    double sum = 0;
    for (std::size_t bin = begin; bin < end; ++bin) {
      const double p = (counts_[bin] + (bin + 1 == kept ? cut : 0)) / total_;
      if (p == 0) continue;
      // What is cut off may stand in a bin that merging left empty.
      const double q = counts_[bin] > 0 ? merged / filled / (total_ - cut) : 1 / total_ / bins;
      sum += p * std::log(p / q);
    }
    return sum;
  }

  std::vector<double> counts_;
  double bin_width_ = 0;
  double total_ = 0;
};

/// The number of bins from `levels` on whose last edge costs least.
template <typename Cost>
std::size_t best_cut(const Cost& cost) {
  std::size_t best = bins;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t kept = levels; kept <= bins; kept += bins_between_tries) {
    const double found = cost(kept);
    if (found >= least) continue;
    least = found;
    best = kept;
  }
  return best;
}

StaticScale least_squares_of(const MagnitudeHistogram& histogram) {
  const std::size_t cut =
      best_cut([&](std::size_t kept) { return histogram.squared_error(histogram.edge(kept) / steps); });
  return {"least squares", histogram.edge(cut) / steps};
}

}  // namespace

std::vector<StaticScale> scale_choices(std::span<const float> values, float largest) {
  const MagnitudeHistogram histogram(values);
  const double min_max = largest > 0 ? largest / steps : 1;
  if (histogram.is_empty()) return {{"min-max", min_max}};
  const std::size_t entropy = best_cut([&](std::size_t kept) { return histogram.divergence(kept); });
  return {{"min-max", min_max},
          {"99.99 percentile", histogram.percentile(0.9999) / steps},
          {"99.9 percentile", histogram.percentile(0.999) / steps},
          least_squares_of(histogram),
          {"entropy", histogram.edge(entropy) / steps}};
}

StaticScale least_squares_scale(std::span<const float> values, float largest) {
  const MagnitudeHistogram histogram(values);
  if (histogram.is_empty()) return {"min-max", largest > 0 ? largest / steps : 1};
  return least_squares_of(histogram);
}

}  // namespace assay
