#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "studies/calibrate/places.h"
#include "studies/sensitivity/run.h"
#include "tensor/tensor.h"

namespace assay {

/// What calibration data put into a place, in fp32.
struct PlaceActivations {
  std::vector<float> largest = {};  ///< Magnitude, by channel (width), over all real rows.
  Tensor rows = {};                 ///< (n, width), f32: some of them, spread evenly, and some of the largest.
};

/// Of one place, by its index, in one batch: `real` are the rows of it that are no padding, `width` values each.
using PlaceVisitor = std::function<void(std::size_t place, const std::vector<const float*>& real)>;
/// Runs every `every`-th batch in fp32 and shows what reaches each place.
void visit_places(const StudiedModel& subject, std::span<const LinearPlace> places, std::size_t every,
                  const PlaceVisitor& visit);

/// Runs the batches in fp32 and keeps, for each place, the largest magnitudes and at most `most_rows` rows.
std::vector<PlaceActivations> activations_at(const StudiedModel& subject, const std::vector<LinearPlace>& places,
                                             std::int64_t most_rows);

}  // namespace assay
