#pragma once

#include <vector>

#include "studies/calibrate/activations.h"
#include "studies/calibrate/places.h"
#include "studies/calibrate/run.h"
#include "studies/calibrate/trials.h"

namespace assay {

/// Factors of a place that make the row's error, with a scale a row of x, least: among smoothing_factors of several
/// alphas and what descent from the best of them finds. They are multiplied into the place's matrices and taken out of
/// what its value comes from, in the trial's changes; a place that they serve too little stays as it is. By channel
/// (width), 1 everywhere where there are none; `result` gets the place's name, its errors and how it was smoothed.
std::vector<float> smooth_place(const ModelTrial& trial, const LinearPlace& place, const PlaceActivations& activations,
                                CalibratedPlace& result);

}  // namespace assay
