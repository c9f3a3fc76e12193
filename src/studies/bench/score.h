#pragma once

#include <vector>

#include "studies/bench/group.h"
#include "studies/shared/quality_data.h"

namespace assay {

/// Scores the group's precisions on `data` and writes the figures into their records among `records`. What memory or
/// kernels lack for it becomes their quality_status: what was timed stays.
void score(const BenchGroup& group, const QualityData& data, std::vector<Record>& records);

}  // namespace assay
