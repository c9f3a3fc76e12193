#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "statistics/statistics.h"

namespace assay {

/// `count` numbers below `count`, each drawn anew: one resample.
std::vector<std::size_t> draw(std::size_t count, Random& random);

/// median() of the values with these numbers, without sorting: a bootstrap takes thousands of them.
double median_of_drawn(std::span<const double> values, std::span<const std::size_t> drawn);

/// 95 % percentile bootstrap (Efron & Tibshirani 1993, 13.3) of bootstrap_resamples values of `replica(random)`.
template <typename Replica>
Interval bootstrap_interval(std::uint64_t seed, Replica&& replica) {
  Random random(seed);
  std::vector<double> replicas(bootstrap_resamples);
  for (double& one : replicas) one = replica(random);
  std::sort(replicas.begin(), replicas.end());
  return {quantile(replicas, 0.025), quantile(replicas, 0.975)};
}

}  // namespace assay
