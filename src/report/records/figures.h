#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "report/subject.h"
#include "results/figure.h"

namespace assay {

// Charts of records. One that has nothing to draw says why.

/// Latency, speed-up, energy per sample, throughput, quality (a chart for each of its measures), model size: a bar or
/// point for each precision of each of these subjects, intervals as whiskers, the baseline set apart, rows of grade C
/// and D nearly empty.
std::vector<Figure> panel_figures(std::span<const ReportSubject> group);

/// Quality against latency, and against energy: the front (what no other precision beats in both respects, or equals
/// in one and beats in the other), and the others.
std::vector<Figure> pareto_figures(const ReportSubject& subject);

/// Operations of the record's ledger by arithmetic intensity and rate, under the roof that this machine's measured
/// bandwidth and matmul peak make (Williams, Waterman & Patterson 2009). Operations that were not timed one by one
/// stand at their bound, and the legend says so.
Figure roofline_figure(const Record& record);

/// Every sample of every precision, each row relative to its own median, with the quartiles and the 95 % interval of
/// the median. At most `most_points` a row, evenly thinned, and the legend says so.
Figure samples_figure(const ReportSubject& subject, std::size_t most_points);

/// Bytes of the arena that are needed during each operation of a pass, a line a precision.
Figure memory_figure(const ReportSubject& subject);
/// Mean power of each metered window, a line a precision.
Figure power_figure(const ReportSubject& subject);

}  // namespace assay
