#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "measure/statistics.h"

namespace assay {

/// The Mann-Whitney U test, two-sided: whether values of one series tend to be larger than those of another.
struct RankTest {
  double u = 0;  ///< Pairs in which b's value is larger; ties count half.
  double p = 1;
  bool is_exact = false;
};

/// Values of both series together up to which the distribution of U is counted out instead of approximated.
constexpr std::size_t most_for_exact = 60;

/// Exact (all ways to divide the values, ties as they are) up to most_for_exact values, else by the normal distribution
/// with corrections for ties and continuity (Lehmann 1975, 1.2 and 1.4). The values of a series must be independent.
/// p is 1 where one of them is empty.
RankTest mann_whitney(std::span<const double> a, std::span<const double> b);

/// Cliff's delta (Cliff 1993): P(b > a) - P(b < a), -1 to 1; 0 where one of them is empty.
double cliffs_delta(std::span<const double> a, std::span<const double> b);

/// How resamples are drawn: each series by itself, or round by round where both were measured in the same rounds.
enum class Drawn : std::uint8_t { apart, by_round };

/// median(b) / median(a) with its 95 % percentile bootstrap interval, reproducible by seed. By round, values beyond the
/// shorter series are left out. The interval is absent below fewest_for_interval values in either. Asserts that both
/// have a value.
Ratio ratio_of_medians(std::span<const double> a, std::span<const double> b, Drawn drawn, std::uint64_t seed);

/// p-values adjusted for their number (Benjamini & Hochberg 1995): of those below q, a share of at most q is expected
/// to be false. In the order of `p`.
std::vector<double> benjamini_hochberg(std::span<const double> p);

}  // namespace assay
