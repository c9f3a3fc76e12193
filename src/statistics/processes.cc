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
  const bool have_logs = std::all_of(of_processes.begin(), of_processes.end(), [](double one) { return one > 0; });
  if (of_processes.size() < 2 || !have_logs) return std::nullopt;
  Welford logs;
  for (const double one : of_processes) logs.add(std::log(one));
  const auto count = static_cast<double>(logs.count());
  const double half = t_quantile(count - 1) * logs.standard_deviation() / std::sqrt(count);
  return Interval{std::min(std::exp(logs.mean() - half), pooled), std::max(std::exp(logs.mean() + half), pooled)};
}

}  // namespace assay
