#pragma once

#include <vector>

#include "results/record.h"
#include "studies/bench/group.h"
#include "studies/generation_bench/cell.h"

namespace assay {

/// Times both phases of the group's precisions in that cell, interleaved. Appends two records a precision: prefill,
/// then decode. `later_s`: what the cells after this one will take, for the progress line.
void measure_generation(BenchGroup& group, const GenerationCell& cell, double later_s, std::vector<Record>& records);

}  // namespace assay
