#pragma once

#include <span>
#include <vector>

#include "results/document.h"

namespace assay {

/// Rows of the same step after several lengths of warm-up, those of `others` that are alike among them, and whether
/// steps vary more without one.
Document warm_up_document(std::span<const Record> others, std::vector<Record> rows);

}  // namespace assay
