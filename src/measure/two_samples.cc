#include "measure/two_samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace assay {
namespace {

/// All values in ascending order, as groups of equal ones.
struct Ties {
  std::vector<std::size_t> sizes;
  std::vector<std::size_t> ranks_of_b;  ///< Twice the mean rank of each of b's values, so that it is whole.
};

Ties rank(std::span<const double> a, std::span<const double> b) {
  std::vector<std::pair<double, bool>> values;
  for (const double value : a) values.emplace_back(value, false);
  for (const double value : b) values.emplace_back(value, true);
  std::sort(values.begin(), values.end());
  Ties ties;
  for (std::size_t begin = 0; begin < values.size();) {
    std::size_t end = begin;
    while (end < values.size() && values[end].first == values[begin].first) ++end;
    for (std::size_t i = begin; i < end; ++i) {
      if (values[i].second) ties.ranks_of_b.push_back(begin + end + 1);
    }
    ties.sizes.push_back(end - begin);
    begin = end;
  }
  return ties;
}

/// ways[s]: how many choices of `chosen` among all values have s as the sum of their doubled ranks.
std::vector<double> count_sums(const std::vector<std::size_t>& sizes, std::size_t chosen) {
  const std::size_t all = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  const std::size_t most = all * (all + 1);
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(most + 1, 0.0));
  ways[0][0] = 1;
  std::size_t before = 0;
  for (const std::size_t size : sizes) {
    const std::size_t doubled = 2 * before + size + 1;
    for (std::size_t one = 0; one < size; ++one) {
      for (std::size_t k = std::min(chosen, before + one + 1); k > 0; --k) {
        for (std::size_t sum = most; sum >= doubled; --sum) ways[k][sum] += ways[k - 1][sum - doubled];
      }
    }
    before += size;
  }
  return std::move(ways[chosen]);
}

/// Share of the sums that lie at least as far from their mean as `sum` does; the distribution is not always symmetric.
double exact_p(const Ties& ties, std::size_t sum) {
  const std::size_t chosen = ties.ranks_of_b.size();
  const std::vector<double> ways = count_sums(ties.sizes, chosen);
  double below = 0;
  double above = 0;
  double all = 0;
  for (std::size_t s = 0; s < ways.size(); ++s) {
    all += ways[s];
    if (s <= sum) below += ways[s];
    if (s >= sum) above += ways[s];
  }
  return std::min(1.0, 2 * std::min(below, above) / all);
}

double normal_p(const Ties& ties, double u, double count_a, double count_b) {
  const double all = count_a + count_b;
  double tied = 0;
  for (const std::size_t size : ties.sizes) {
    const auto t = static_cast<double>(size);
    tied += t * t * t - t;
  }
  const double variance = count_a * count_b / 12 * ((all + 1) - tied / (all * (all - 1)));
  if (variance <= 0) return 1;  // All values are equal.
  const double distance = std::abs(u - count_a * count_b / 2) - 0.5;
  return std::min(1.0, std::erfc(std::max(distance, 0.0) / std::sqrt(2 * variance)));
}

/// As median(), without sorting: a bootstrap takes thousands of them.
double median_of(std::span<const double> values, const std::vector<std::size_t>& drawn) {
  std::vector<double> picked(drawn.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) picked[i] = values[drawn[i]];
  const auto middle = picked.begin() + static_cast<std::ptrdiff_t>(picked.size() / 2);
  std::nth_element(picked.begin(), middle, picked.end());
  if (picked.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(picked.begin(), middle)) / 2;
}

std::vector<std::size_t> draw(std::size_t count, Random& random) {
  std::vector<std::size_t> drawn(count);
  for (std::size_t& one : drawn) one = random.below(count);
  return drawn;
}

}  // namespace

RankTest mann_whitney(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return {};
  const Ties ties = rank(a, b);
  const std::size_t sum = std::accumulate(ties.ranks_of_b.begin(), ties.ranks_of_b.end(), std::size_t{0});
  const auto count_a = static_cast<double>(a.size());
  const auto count_b = static_cast<double>(b.size());
  RankTest test;
  test.u = static_cast<double>(sum) / 2 - count_b * (count_b + 1) / 2;
  test.is_exact = a.size() + b.size() <= most_for_exact;
  test.p = test.is_exact ? exact_p(ties, sum) : normal_p(ties, test.u, count_a, count_b);
  return test;
}

double cliffs_delta(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return 0;
  std::int64_t difference = 0;
  for (const double one : a) {
    for (const double other : b) difference += (other > one ? 1 : 0) - (other < one ? 1 : 0);
  }
  return static_cast<double>(difference) / (static_cast<double>(a.size()) * static_cast<double>(b.size()));
}

Ratio ratio_of_medians(std::span<const double> a, std::span<const double> b, Drawn drawn, std::uint64_t seed) {
  ASSAY_ASSERT(!a.empty() && !b.empty());
  if (drawn == Drawn::by_round) {
    a = a.first(std::min(a.size(), b.size()));
    b = b.first(a.size());
  }
  Ratio ratio{median(b) / median(a), std::nullopt};
  if (std::min(a.size(), b.size()) < fewest_for_interval) return ratio;
  Random random(seed);
  std::vector<double> replicas;
  replicas.reserve(bootstrap_resamples);
  for (int i = 0; i < bootstrap_resamples; ++i) {
    const std::vector<std::size_t> of_a = draw(a.size(), random);
    const std::vector<std::size_t> of_b = drawn == Drawn::by_round ? of_a : draw(b.size(), random);
    replicas.push_back(median_of(b, of_b) / median_of(a, of_a));
  }
  std::sort(replicas.begin(), replicas.end());
  ratio.interval = Interval{quantile(replicas, 0.025), quantile(replicas, 0.975)};
  return ratio;
}

std::vector<double> benjamini_hochberg(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return p[i] > p[j]; });
  std::vector<double> adjusted(p.size());
  double least = 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto rank_of_p = static_cast<double>(order.size() - i);
    least = std::min(least, p[order[i]] * static_cast<double>(order.size()) / rank_of_p);
    adjusted[order[i]] = least;
  }
  return adjusted;
}

}  // namespace assay
