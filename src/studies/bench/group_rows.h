#pragma once

#include <span>
#include <vector>

#include "results/record.h"

namespace assay {

/// A later group repeats the baseline for its own ratios; the first group's rows stand for it.
std::vector<Record> without_known(const std::vector<Record>& all, std::span<const Record> more);

/// A speed-up is over the samples of its own group: rows take those of a baseline row that will not be kept.
std::vector<Record> with_baseline_samples(const std::vector<Record>& known, std::vector<Record> measured);

}  // namespace assay
