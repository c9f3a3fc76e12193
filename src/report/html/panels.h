#pragma once

#include <span>
#include <string>

#include "report/subject.h"

namespace assay {

/// The six panels of such studies: latency, speed-up, energy per sample, throughput, quality, model size; each a
/// `figure` with a chart, a bar or point for each precision of each subject, intervals as error bars, the baseline
/// marked. A panel without data says why.
std::string panels_html(std::span<const ReportSubject> group);

/// The subjects of a chart by colour and name; empty for one subject.
std::string legend_html(std::span<const ReportSubject> group);

}  // namespace assay
