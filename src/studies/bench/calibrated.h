#pragma once

#include "studies/bench/request.h"

namespace assay {

/// Calibrates the model for the precisions that take it, where that was asked. Throws user errors for data that is
/// scored, too, and where no asked precision takes it.
void calibrate_for(const BenchRequest& request, Model& model, const MachineFacts& facts,
                   const StudyCallbacks& callbacks);

}  // namespace assay
