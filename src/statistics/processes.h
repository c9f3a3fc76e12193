#pragma once

#include <optional>
#include <span>
#include <vector>

#include "statistics/statistics.h"

namespace assay {

// Two levels of chance: rounds within a process, and processes. Where memory lies, which pages are huge and how threads
// fell on cores differ from one start of a program to the next and stay for its life, so no number of rounds in one
// process says what the next one will take (Kalibera & Jones 2013, "Rigorous benchmarking in reasonable time").
//
// Samples of several processes stand in one list, one process after the other; `counts`: how many are of each.

/// Whether the counts say of every sample which process it is of, and there are at least two.
bool are_of_processes(std::span<const double> samples, std::span<const double> counts);

/// The median of each process.
std::vector<double> medians_of_processes(std::span<const double> samples, std::span<const double> counts);
/// Of each process the median over rounds of baseline / subject.
std::vector<double> ratios_of_processes(std::span<const double> baseline, std::span<const double> subject,
                                        std::span<const double> counts);

/// 95 % interval of what a process takes at the middle: on a log scale the mean of the processes' own figures by
/// Student's t with one degree of freedom less than there are processes. What varies within a process is in its figure,
/// so both levels are in the interval. (A percentile bootstrap over five processes would hold the truth in about 82 %;
/// processes_test.cc.) It holds `pooled`, the figure of all samples, too. Absent below two processes, and where a
/// figure is not above 0.
std::optional<Interval> interval_over_processes(std::span<const double> of_processes, double pooled);

/// b over a, each a figure a process, of programs measured apart: the quotient of their medians, its 95 % interval by
/// Welch's t (1947) on a log scale. Absent below two processes in either, and where a figure is not above 0. Asserts
/// that both have one.
Ratio ratio_of_processes(std::span<const double> a, std::span<const double> b);

}  // namespace assay
