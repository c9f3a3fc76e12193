#pragma once

#include <span>
#include <vector>

#include "studies/calibrate/activations.h"
#include "studies/calibrate/places.h"
#include "studies/calibrate/run.h"
#include "studies/calibrate/trials.h"

namespace assay {

/// What is left once all places are smoothed, since factors of one are rows of another's matrices: codes with feedback
/// of errors where they make the row's error less; where its scales are static, the one of least error, or none; then
/// corrections of biases. `activations`, `factors` (as smooth_place gives them) and `results` are of the places, one
/// each. Ends early at an interrupt.
void round_places(const ModelTrial& trial, std::span<const LinearPlace> places,
                  std::span<const PlaceActivations> activations, std::span<const std::vector<float>> factors,
                  std::span<CalibratedPlace> results);

}  // namespace assay
