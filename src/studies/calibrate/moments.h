#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "studies/calibrate/places.h"
#include "studies/sensitivity/run.h"
#include "tensor/tensor.h"

namespace assay {

/// sum over rows of x_t x_t^T / power_t of what calibration data puts into a place in fp32, with power_t an estimate of
/// the power of what its layers make of the row: sum_c x_tc^2 column_power_c. So rows count alike, however large.
struct PlaceMoments {
  Tensor sum = {};                        ///< (width, width), f32
  double rows = 0;                        ///< That are in it.
  std::vector<double> column_power = {};  ///< (width): sum_i W_ic^2 over the place's layers.
};

/// Of places whose moments fit into memory together (places_at_once): some thousand rows, spread evenly over the
/// batches.
std::vector<PlaceMoments> moments_at(const StudiedModel& subject, std::span<const LinearPlace> places);

/// What ErrorFeedback takes, (width, width), f32: the same sum of x / s, for factors s (width), and on its diagonal
/// what is added by rounding x / s to 8 bits, a scale a row. `rows`: (n, width), some of x.
Tensor moments_of_rounded(const PlaceMoments& moments, const Tensor& rows, const std::vector<float>& factors);

/// How many of the places, from the first on, are looked at together.
std::size_t places_at_once(std::span<const LinearPlace> places);

}  // namespace assay
