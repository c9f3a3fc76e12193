#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace assay {

/// Both ends belong to it.
struct Interval {
  double low = 0;
  double high = 0;
};

/// Whether "value ± half the interval's width" would mislead: the interval's middle is further from the value than 2 %
/// of it, as where [12.5, 57.8] belongs to 12.8.
bool is_lopsided(double value, const Interval& interval);
/// Whether half the interval's width is the value itself (±100 %) or more: then its ends are known, and no figure.
bool leaves_no_figure(double value, const Interval& interval);

/// Mean and standard deviation in one pass without cancellation (Welford 1962; Knuth, TAOCP vol. 2, 4.2.2).
class Welford {
 public:
  void add(double value);
  std::size_t count() const { return count_; }
  double mean() const { return mean_; }  ///< 0 where nothing was added.
  double standard_deviation() const;     ///< Of the sample (n - 1 in the denominator); 0 below two values.

 private:
  std::size_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

/// The p-quantile of ascending values, 0 <= p <= 1: linear between the order statistics around (n - 1) p (Hyndman & Fan
/// 1996, definition 7, the default of R and NumPy). Asserts that there is a value.
double quantile(std::span<const double> ascending, double p);
/// The same at 1/2, for values in any order.
double median(std::span<const double> values);

/// Fewest values for which an interval of the median exists at 95 %: with five, even (smallest, largest) misses it with
/// probability 2 / 2^5 = 6.25 %.
constexpr std::size_t fewest_for_interval = 6;

/// Distribution-free interval of the median: the order statistics x(k), x(n + 1 - k) with the largest k for which
/// 2 P(Binomial(n, 1/2) < k) <= 1 - confidence (David & Nagaraja 2003, 7.1). Assumes independent samples, nothing about
/// their distribution. Absent where n is too small for the confidence.
std::optional<Interval> median_interval(std::span<const double> ascending, double confidence = 0.95);

/// The 97.5 % quantile of Student's t; of fewer than one degree of freedom that of one.
double t_quantile(double degrees);

/// What a row of the table says of a series of samples. Interval: 95 %, of the median.
struct Summary {
  std::size_t samples = 0;
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  double p99 = 0;
  double mean = 0;
  double standard_deviation = 0;
  std::optional<Interval> interval;
};
/// Absent for no samples at all.
std::optional<Summary> summarise(std::span<const double> values);

/// A ratio with its 95 % interval, absent below fewest_for_interval rounds.
struct Ratio {
  double value = 0;
  std::optional<Interval> interval;
};

/// Resamples behind one bootstrap interval: the ends of a 95 % interval then move by about 1 % of its width.
constexpr int bootstrap_resamples = 2000;

/// The median over rounds of baseline[i] / subject[i]: a slow phase of the machine hits both halves of a round and
/// cancels. Values beyond the shorter series are left out. Interval: percentile bootstrap over rounds (Efron &
/// Tibshirani 1993, 13.3), reproducible by seed. Absent without a round.
std::optional<Ratio> paired_ratio(std::span<const double> baseline, std::span<const double> subject,
                                  std::uint64_t seed);

}  // namespace assay
