#pragma once

#include <vector>

namespace assay {

/// What may have been spent of an error rate when this share of the budget is gone, 0 to 1: rate ln(1 + (e - 1) share),
/// which is close to Pocock's equal levels, so that large differences are found early (Lan & DeMets 1983, alpha 2). The
/// share may be one of time: looks do not depend on what was seen (Lan & DeMets 1989).
double spent_error(double rate, double share);

/// Levels of a test that is made again and again while data come in, such that the chance of a false rejection at any
/// of the looks stays at what was spent (Lan & DeMets 1983). Computed by the recursion of Armitage, McPherson & Rowe
/// 1969 for a statistic with independent increments, which rank statistics have in the limit; of a test that keeps its
/// level at each look, no level here is below what Bonferroni's bound allows.
class SequentialLevels {
 public:
  /// The two-sided level of the next look. `samples`: so far, more than at the look before; `spent`: of the error rate
  /// in all, this look included, not less than before.
  double next(double samples, double spent);

 private:
  double crossing(double bound) const;
  double bound_of(double crossing) const;
  void go_on_within(double bound);

  double samples_ = 0;
  double step_ = 0;  ///< Standard deviation of what has come since the look before.
  double spent_ = 0;
  /// The sum of the samples, where no look has rejected: points with their probabilities.
  std::vector<double> points_ = {0.0};
  std::vector<double> masses_ = {1.0};
};

}  // namespace assay
