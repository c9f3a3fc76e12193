#pragma once

#include <cstddef>
#include <string>

#include "report/subject.h"

namespace assay {

/// A `figure`: every sample of every precision as a point, each row relative to its own median, with the quartiles and
/// the 95 % interval of the median. At most `most_points` a row are drawn, evenly thinned, and the caption says so.
std::string distribution_html(const ReportSubject& subject, std::size_t most_points);

}  // namespace assay
