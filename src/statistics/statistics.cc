#include "statistics/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "statistics/bootstrap.h"
#include "statistics/student.h"

namespace assay {
namespace {

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> ascending(values.begin(), values.end());
  std::sort(ascending.begin(), ascending.end());
  return ascending;
}

/// log(n! / (k! (n - k)!) / 2^n): the binomial term itself underflows beyond n = 1074.
double log_binomial_half(std::size_t n, std::size_t k) {
  const auto whole = static_cast<double>(n);
  const auto part = static_cast<double>(k);
  return std::lgamma(whole + 1) - std::lgamma(part + 1) - std::lgamma(whole - part + 1) - whole * std::log(2.0);
}

/// Largest k with P(Binomial(n, 1/2) < k) <= tail; 0 where not even k = 1 qualifies.
std::size_t order_of_tail(std::size_t n, double tail) {
  double below = 0;
  std::size_t k = 0;
  while (k < n / 2) {
    below += std::exp(log_binomial_half(n, k));
    if (below > tail) break;
    ++k;
  }
  return k;
}

}  // namespace

bool is_lopsided(double value, const Interval& interval) {
  return std::abs((interval.low + interval.high) / 2 - value) > 0.02 * std::abs(value);
}

bool leaves_no_figure(double value, const Interval& interval) {
  return (interval.high - interval.low) / 2 >= std::abs(value);
}

void Welford::add(double value) {
  ++count_;
  const double distance = value - mean_;
  mean_ += distance / static_cast<double>(count_);
  squares_ += distance * (value - mean_);
}

double Welford::standard_deviation() const {
  return count_ < 2 ? 0.0 : std::sqrt(squares_ / static_cast<double>(count_ - 1));
}

double quantile(std::span<const double> ascending, double p) {
  ASSAY_ASSERT(!ascending.empty() && p >= 0 && p <= 1);
  const double at = static_cast<double>(ascending.size() - 1) * p;
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, ascending.size() - 1);
  const double share = at - static_cast<double>(low);
  return ascending[low] + share * (ascending[high] - ascending[low]);
}

double median(std::span<const double> values) {
  return quantile(sorted(values), 0.5);
}

double t_quantile(double degrees) {
  constexpr double as_normal = 1e9;
  return student_bound(0.05, std::clamp(degrees, 1.0, as_normal));
}

std::optional<Interval> median_interval(std::span<const double> ascending, double confidence) {
  const std::size_t k = order_of_tail(ascending.size(), (1 - confidence) / 2);
  if (k == 0) return std::nullopt;
  return Interval{ascending[k - 1], ascending[ascending.size() - k]};
}

std::optional<Summary> summarise(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  const std::vector<double> ascending = sorted(values);
  Welford moments;
  for (const double value : values) moments.add(value);
  return Summary{.samples = values.size(),
                 .median = quantile(ascending, 0.5),
                 .p10 = quantile(ascending, 0.1),
                 .p90 = quantile(ascending, 0.9),
                 .p99 = quantile(ascending, 0.99),
                 .mean = moments.mean(),
                 .standard_deviation = moments.standard_deviation(),
                 .interval = median_interval(ascending)};
}

std::optional<Ratio> paired_ratio(std::span<const double> baseline, std::span<const double> subject,
                                  std::uint64_t seed) {
  const std::size_t rounds = std::min(baseline.size(), subject.size());
  if (rounds == 0) return std::nullopt;
  std::vector<double> ratios(rounds);
  for (std::size_t i = 0; i < rounds; ++i) ratios[i] = baseline[i] / subject[i];
  Ratio ratio{.value = median(ratios), .interval = std::nullopt};
  if (rounds >= fewest_for_interval) {
    ratio.interval =
        bootstrap_interval(seed, [&](Random& random) { return median_of_drawn(ratios, draw(rounds, random)); });
  }
  return ratio;
}

}  // namespace assay
