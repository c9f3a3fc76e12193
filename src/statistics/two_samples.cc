#include "statistics/two_samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "statistics/bootstrap.h"

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

/// Twice the smaller of both tails that begin at `sum`; with ties they need not mirror each other.
double exact_p(const std::vector<double>& ways, std::size_t sum) {
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

/// Sum of t^3 - t over the groups of t equal values.
double tie_term(const std::vector<std::size_t>& sizes) {
  double tied = 0;
  for (const std::size_t size : sizes) {
    const auto t = static_cast<double>(size);
    tied += t * t * t - t;
  }
  return tied;
}

/// With the correction for continuity. `distance`: of the statistic from its mean.
double normal_p(double distance, double variance) {
  if (variance <= 0) return 1;  // All values are equal.
  return std::min(1.0, std::erfc(std::max(std::abs(distance) - 0.5, 0.0) / std::sqrt(2 * variance)));
}

double normal_u_p(const Ties& ties, double u, double count_a, double count_b) {
  const double all = count_a + count_b;
  const double variance = count_a * count_b / 12 * ((all + 1) - tie_term(ties.sizes) / (all * (all - 1)));
  return normal_p(u - count_a * count_b / 2, variance);
}

/// Pairs in which b's value is larger; ties count half.
double u_of(const Ties& ties) {
  const std::size_t sum = std::accumulate(ties.ranks_of_b.begin(), ties.ranks_of_b.end(), std::size_t{0});
  const auto count_b = static_cast<double>(ties.ranks_of_b.size());
  return static_cast<double>(sum) / 2 - count_b * (count_b + 1) / 2;
}

/// Of every value of both series, in ascending order.
std::vector<std::size_t> doubled_ranks(const Ties& ties) {
  std::vector<std::size_t> ranks;
  std::size_t before = 0;
  for (const std::size_t size : ties.sizes) {
    ranks.insert(ranks.end(), size, 2 * before + size + 1);
    before += size;
  }
  return ranks;
}

/// ways[s]: how many of the 2^n choices of signs give s as the sum of the doubled ranks of the positive ones.
std::vector<double> count_signed_sums(const std::vector<std::size_t>& doubled_ranks) {
  std::vector<double> ways(1, 1.0);
  for (const std::size_t rank : doubled_ranks) {
    ways.resize(ways.size() + rank, 0.0);
    for (std::size_t sum = ways.size() - 1; sum >= rank; --sum) ways[sum] += ways[sum - rank];
  }
  return ways;
}

double signed_rank_mean(std::size_t count) {
  const auto n = static_cast<double>(count);
  return n * (n + 1) / 4;
}

double signed_rank_variance(std::size_t count) {
  const auto n = static_cast<double>(count);
  return n * (n + 1) * (2 * n + 1) / 24;
}

/// Of ranks without ties; ways are counted by doubled ranks, of which every other sum is none.
std::uint64_t exact_signed_rank_order(std::size_t count, double p) {
  const std::vector<double> ways = count_signed_sums(doubled_ranks({std::vector<std::size_t>(count, 1), {}}));
  const double most = p / 2 * std::pow(2.0, static_cast<double>(count));
  double below = 0;
  std::uint64_t k = 0;
  while (2 * k < ways.size() && (below += ways[2 * k]) <= most) ++k;
  return k;
}

}  // namespace

std::uint64_t signed_rank_order(std::size_t differences, double p) {
  if (differences <= most_for_exact) return exact_signed_rank_order(differences, p);
  const double distance = z_of_p(p) * std::sqrt(signed_rank_variance(differences));
  return static_cast<std::uint64_t>(std::max(0.0, std::floor(signed_rank_mean(differences) + 0.5 - distance)));
}

RankTest mann_whitney(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return {};
  const Ties ties = rank(a, b);
  RankTest test;
  test.statistic = u_of(ties);
  test.is_exact = a.size() + b.size() <= most_for_exact;
  if (test.is_exact) {
    const std::size_t sum = std::accumulate(ties.ranks_of_b.begin(), ties.ranks_of_b.end(), std::size_t{0});
    test.p = exact_p(count_sums(ties.sizes, b.size()), sum);
  } else {
    test.p = normal_u_p(ties, test.statistic, static_cast<double>(a.size()), static_cast<double>(b.size()));
  }
  return test;
}

RankTest wilcoxon(std::span<const double> differences) {
  std::vector<double> falls;
  std::vector<double> rises;
  for (const double difference : differences) {
    if (difference != 0) (difference > 0 ? rises : falls).push_back(std::abs(difference));
  }
  if (falls.empty() && rises.empty()) return {};
  const Ties ties = rank(falls, rises);
  const std::size_t sum = std::accumulate(ties.ranks_of_b.begin(), ties.ranks_of_b.end(), std::size_t{0});
  const std::size_t count = falls.size() + rises.size();
  RankTest test{static_cast<double>(sum) / 2, 1, count <= most_for_exact};
  if (test.is_exact) {
    test.p = exact_p(count_signed_sums(doubled_ranks(ties)), sum);
  } else {
    test.p =
        normal_p(test.statistic - signed_rank_mean(count), signed_rank_variance(count) - tie_term(ties.sizes) / 48);
  }
  return test;
}

double cliffs_delta(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return 0;
  return 2 * u_of(rank(a, b)) / (static_cast<double>(a.size()) * static_cast<double>(b.size())) - 1;
}

Ratio ratio_of_medians(std::span<const double> a, std::span<const double> b, std::uint64_t seed) {
  ASSAY_ASSERT(!a.empty() && !b.empty());
  Ratio ratio{median(b) / median(a), std::nullopt};
  if (std::min(a.size(), b.size()) < fewest_for_interval) return ratio;
  ratio.interval = bootstrap_interval(seed, [&](Random& random) {
    const double of_a = median_of_drawn(a, draw(a.size(), random));
    return median_of_drawn(b, draw(b.size(), random)) / of_a;
  });
  return ratio;
}

double z_of_p(double p) {
  double low = 0;
  double high = 40;  // erfc() is 0 in double precision there.
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) > p ? low : high) = middle;
  }
  return low;
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
