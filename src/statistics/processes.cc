#include "statistics/processes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace assay {
namespace {

/// Calls `visit` with the samples of each process.
template <typename Visit>
void for_processes(std::span<const double> samples, std::span<const double> counts, Visit&& visit) {
  for (const double count : counts) {
    const std::size_t own = std::min(static_cast<std::size_t>(count), samples.size());
    visit(samples.first(own));
    samples = samples.subspan(own);
  }
}

/// Mean and squared standard error of the logs.
struct LogMean {
  double mean = 0;
  double variance = 0;
  double degrees = 0;
};

std::optional<LogMean> log_mean(std::span<const double> of_processes) {
  const bool have_logs = std::all_of(of_processes.begin(), of_processes.end(), [](double one) { return one > 0; });
  if (of_processes.size() < 2 || !have_logs) return std::nullopt;
  Welford logs;
  for (const double one : of_processes) logs.add(std::log(one));
  const auto count = static_cast<double>(logs.count());
  return LogMean{logs.mean(), std::pow(logs.standard_deviation(), 2) / count, count - 1};
}

/// exp of mean ± half, and `held` in any case.
Interval around(double mean, double half, double held) {
  return {std::min(std::exp(mean - half), held), std::max(std::exp(mean + half), held)};
}

}  // namespace

bool are_of_processes(std::span<const double> samples, std::span<const double> counts) {
  const bool are_counts = std::all_of(counts.begin(), counts.end(), [&](double count) {
    return count >= 1 && count <= static_cast<double>(samples.size()) && count == std::floor(count);
  });
  return counts.size() >= 2 && are_counts &&
         std::accumulate(counts.begin(), counts.end(), 0.0) == static_cast<double>(samples.size());
}

std::vector<double> medians_of_processes(std::span<const double> samples, std::span<const double> counts) {
  std::vector<double> medians;
  for_processes(samples, counts, [&](std::span<const double> own) { medians.push_back(median(own)); });
  return medians;
}

std::vector<double> ratios_of_processes(std::span<const double> baseline, std::span<const double> subject,
                                        std::span<const double> counts) {
  std::vector<double> ratios(std::min(baseline.size(), subject.size()));
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = baseline[i] / subject[i];
  return medians_of_processes(ratios, counts);
}

std::optional<Interval> interval_over_processes(std::span<const double> of_processes, double pooled) {
  const std::optional<LogMean> logs = log_mean(of_processes);
  if (!logs) return std::nullopt;
  return around(logs->mean, t_quantile(logs->degrees) * std::sqrt(logs->variance), pooled);
}

Ratio ratio_of_processes(std::span<const double> a, std::span<const double> b) {
  Ratio ratio{median(b) / median(a), std::nullopt};
  const std::optional<LogMean> of_a = log_mean(a);
  const std::optional<LogMean> of_b = log_mean(b);
  if (!of_a || !of_b) return ratio;
  const double variance = of_a->variance + of_b->variance;
  const double shares = std::pow(of_a->variance, 2) / of_a->degrees + std::pow(of_b->variance, 2) / of_b->degrees;
  const double degrees = shares > 0 ? variance * variance / shares : of_a->degrees + of_b->degrees;
  ratio.interval = around(of_b->mean - of_a->mean, t_quantile(degrees) * std::sqrt(variance), ratio.value);
  return ratio;
}

}  // namespace assay
