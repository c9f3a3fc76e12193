#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "statistics/statistics.h"

namespace assay {

/// A two-sided test by ranks.
struct RankTest {
  double statistic = 0;
  double p = 1;
  bool is_exact = false;
};

/// Values in a test up to which the distribution of its statistic is counted out instead of approximated.
constexpr std::size_t most_for_exact = 60;

/// The Mann-Whitney U test: whether values of one series tend to be larger than those of another. U: pairs in which b's
/// value is larger; ties count half. Exact (all ways to divide the values, ties as they are) up to most_for_exact
/// values, else by the normal distribution with corrections for ties and continuity (Lehmann 1975, 1.2 and 1.4). The
/// values of a series must be independent. p is 1 where one of them is empty.
RankTest mann_whitney(std::span<const double> a, std::span<const double> b);

/// Wilcoxon's signed-rank test: whether differences within pairs tend to one side of 0; what hits both halves of a pair
/// alike is not in it. Its statistic is the sum of the ranks of the positive ones. Differences of 0 are left out
/// (Wilcoxon 1945). Exact (all ways to give the ranks signs, ties as they are) up to most_for_exact others, else by the
/// normal distribution with corrections for ties and continuity (Lehmann 1975, 3.2). p is 1 where none is left.
RankTest wilcoxon(std::span<const double> differences);

/// The largest k with 2 P(W < k) <= p, W the signed-rank statistic of that many differences without ties; 0 where there
/// is none. Exact and approximate as wilcoxon() is.
std::uint64_t signed_rank_order(std::size_t differences, double p);

/// |z| beyond which a standard normal variable lies with probability p (both tails): 1.96 of 0.05; 0 of 1.
double z_of_p(double p);

/// Cliff's delta (Cliff 1993): P(b > a) - P(b < a), -1 to 1; 0 where one of them is empty.
double cliffs_delta(std::span<const double> a, std::span<const double> b);

/// median(b) / median(a) of series measured apart, with its 95 % percentile bootstrap interval (each series is drawn by
/// itself), reproducible by seed. The interval is absent below fewest_for_interval values in either. Values must be
/// above 0. Asserts that both have one.
Ratio ratio_of_medians(std::span<const double> a, std::span<const double> b, std::uint64_t seed);

/// p-values adjusted for their number (Benjamini & Hochberg 1995): of those below q, a share of at most q is expected
/// to be false. In the order of `p`.
std::vector<double> benjamini_hochberg(std::span<const double> p);

}  // namespace assay
