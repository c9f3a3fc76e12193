#pragma once

#include "tensor/tensor.h"

namespace assay {

/// Whether no element is NaN or infinite. Integers always are finite.
bool all_finite(const TensorView& view);

}  // namespace assay
