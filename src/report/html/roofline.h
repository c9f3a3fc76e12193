#pragma once

#include <string>

#include "results/record.h"

namespace assay {

/// A `figure`: operations of the record's ledger by arithmetic intensity and rate, under the roof that this machine's
/// measured bandwidth and matmul peak make (Williams, Waterman & Patterson 2009). Operations that were not timed one by
/// one stand at their bound, and the caption says so; what has no roof or ledger says why.
std::string roofline_html(const Record& record);

}  // namespace assay
