#pragma once

#include <optional>
#include <span>
#include <string>

#include "statistics/statistics.h"

namespace assay {

// A third level of chance, above rounds and processes: runs. A shared machine has slow phases that last for minutes, a
// laptop a battery and a fan; a run that ends within one phase knows nothing of the others. What runs of one
// measurement differed by before, on the same machine, says how far another one may be from this one.

/// What one earlier run gave.
struct RunFigure {
  std::string cell;         ///< What was timed interleaved: its figures move together.
  std::string measurement;  ///< Figures of one are of the same thing.
  double value = 0;         ///< Above 0.
};

/// The standard deviation of a figure's logarithm between runs, and the degrees of freedom with which it is known.
struct RunSpread {
  double deviation = 0;
  double degrees = 0;
};
/// Of the figures of that cell where they alone are enough: a cell of microseconds differs by more than one of a
/// second. Else pooled over measurements that several runs gave: within a cell by the mean of its measurements'
/// variances, with the degrees of freedom of one of them. Absent below three degrees.
std::optional<RunSpread> spread_between_runs(std::span<const RunFigure> figures, const std::string& cell = "");

/// A 95 % interval of what one run would say of the middle, and how well its width is known: Student's degrees of
/// freedom.
struct WithinRun {
  Interval interval;
  double degrees = 0;
};
/// The same with what differs between runs in it: both variances added on a log scale, the degrees of freedom by
/// Satterthwaite (1946). It holds all of `within`. The ends of `within` must be above 0.
Interval with_spread(const WithinRun& within, const RunSpread& between);

}  // namespace assay
