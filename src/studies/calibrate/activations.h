#pragma once

#include <cstdint>
#include <vector>

#include "studies/calibrate/places.h"
#include "studies/sensitivity/run.h"
#include "tensor/tensor.h"

namespace assay {

/// What calibration data put into a place, in fp32.
struct PlaceActivations {
  std::vector<float> largest = {};  ///< Magnitude, by channel, over all real rows.
  Tensor rows = {};                 ///< (n, width): some of them, spread evenly, and some of the largest.
};

/// Runs the batches in fp32 and keeps, for each place, the largest magnitudes and at most `most_rows` rows.
std::vector<PlaceActivations> activations_at(const StudiedModel& subject, const std::vector<LinearPlace>& places,
                                             std::int64_t most_rows);

}  // namespace assay
