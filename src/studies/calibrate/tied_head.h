#pragma once

#include "model/changed_weights.h"
#include "model/model.h"
#include "studies/calibrate/run.h"
#include "tensor/precision.h"

namespace assay {

/// Whether the model's head is tied to the token embedding and the row rounds what it multiplies.
bool rounds_tied_head(const Model& model, const PrecisionChoice& row);

/// What the head of a tied model reads, by changes that were found with_own_head. A table of its own is worth its bytes
/// where it has factors: without, what was found for it becomes the shared table's.
HeadTable settled_head(const Model& tied, WeightChanges& changes);

}  // namespace assay
