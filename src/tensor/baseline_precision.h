#pragma once

#include "tensor/precision.h"

namespace assay {

/// The row that losses and speed-ups are held against: fp32, which every device computes.
const Precision& baseline_precision();

}  // namespace assay
