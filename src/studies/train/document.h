#pragma once

#include "results/document.h"
#include "studies/train/run.h"

namespace assay {

/// The losses of every step, in "losses", of every epoch its scores, and a chart. `report.failure` is not in it.
Document to_document(const TrainRequest& request, const TrainReport& report);

}  // namespace assay
