#pragma once

#include <span>
#include <string>

#include "report/subject.h"

namespace assay {

/// A `figure`: bytes of the arena that are needed during each operation of a pass, a line a precision, beside what the
/// weights take; where no record has them, that they were not recorded.
std::string memory_timeline_html(const ReportSubject& subject);

/// A `figure`: mean power of each window, a line a precision, and their means beside the idle power and the limit;
/// where there was no meter, why.
std::string power_html(const ReportSubject& subject);

}  // namespace assay
