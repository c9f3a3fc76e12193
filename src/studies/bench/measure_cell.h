#pragma once

#include <vector>

#include "studies/bench/group.h"

namespace assay {

/// Times the group's precisions on those inputs, interleaved. Appends one record a precision. `later_s`: what the cells
/// after this one will take, for the progress line.
void measure_cell(BenchGroup& group, const CellInputs& inputs, double later_s, std::vector<Record>& records);

}  // namespace assay
