#pragma once

#include <vector>

#include "model/changed_weights.h"
#include "studies/calibrate/places.h"
#include "studies/sensitivity/run.h"
#include "tensor/precision.h"
#include "tensor/tensor.h"

namespace assay {

/// A model that is calibrated, and the same with what has been found for it.
struct ModelTrial {
  const StudiedModel& subject;
  const StudiedModel& changed;  ///< Reads `changes` as they are at that moment.
  WeightChanges& changes;
  const PrecisionChoice& row;  ///< The precision whose error is made small.
};

/// Rows at a place, and what its layers ought to make of them.
struct RowsAtPlace {
  const LinearPlace& place;
  const Tensor& rows;                ///< (n, width), f32: as the layers read them.
  const std::vector<Tensor>& exact;  ///< (n, out) of each layer, f32.
};

/// In the place of a static scale: each row of x has its own.
inline constexpr double scale_by_row = 0;

/// What each layer of the place makes of `rows` (n, width) in fp32, by the model's weights as they are now: (n, out),
/// f32.
std::vector<Tensor> exact_outputs(const StudiedModel& model, const LinearPlace& place, const Tensor& rows);
/// The same in the row, with the changes as they are now and that scale of x.
std::vector<Tensor> low_outputs(const ModelTrial& trial, const LinearPlace& place, const Tensor& rows, double scale);

/// How far low_outputs are from what they ought to be: the power of the difference over that of the exact row, as a
/// mean over rows, so that the largest hide no others, and over layers.
double low_error(const ModelTrial& trial, const RowsAtPlace& at, double scale);

}  // namespace assay
