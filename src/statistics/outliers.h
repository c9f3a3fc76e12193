#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "statistics/statistics.h"

namespace assay {

// Which of a few values that should be alike stand apart. What the others differ by is the yardstick, so that nothing
// need be known of where their differences come from.

/// A value beside those that do not stand apart.
struct Deviation {
  double value = 0;        ///< It less the mean of those others.
  Interval interval = {};  ///< Student's t of what one more of them may be off by, Bonferroni over all values.
  double p = 1;            ///< Of that deviation, adjusted likewise: at most 1.
  bool stands_apart = false;
};

/// The generalised extreme studentised deviate test (Rosner 1983) for up to (n - 1) / 2 values, so that several that
/// stand apart do not hide each other; then each value beside those that are left: it stands apart where the test says
/// so and its interval is clear of 0. The chance that any of alike, normal values stands apart is about `level` at most
/// (Rosner's own levels, where several values may be taken, are too high by up to a factor of two below twenty values:
/// half the level goes into them; outliers_test.cc counts). In the order of `values`; empty below three.
std::vector<Deviation> deviations(std::span<const double> values, double level = 0.05);

}  // namespace assay
