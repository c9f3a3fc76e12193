#pragma once

#include "studies/calibrate/trials.h"

namespace assay {

/// Takes the mean error over rows of each of the place's layers off its bias, in the trial's changes (Nagel et al.
/// 2019), with the changes as they are now and that scale of x. Layers without a bias, and those with an activation
/// behind it, stay as they are.
void correct_biases(const ModelTrial& trial, const RowsAtPlace& at, double scale);

}  // namespace assay
