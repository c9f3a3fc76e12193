#pragma once

#include <string>

#include "studies/train_benchmark/cell.h"

namespace assay {

/// What a row is expected to take; seconds.
struct ExpectedTime {
  double prepare_s = 0;  ///< Weights, state and plan; 0: nothing is known of it.
  double step_s = 0;     ///< 0: nothing is known of it.
  std::string by;        ///< What that follows from.

  double whole_s(double steps) const { return prepare_s + steps * step_s; }
};

/// FLOPs of the model's matrix products in one step: a backward costs twice its forward, a product for each factor.
double step_flops(const TrainCell& cell, const TrainingOptions& options);
/// Before anything is allocated: at the rate of the largest smaller step that ran in that precision, else at the best
/// matmul measured for its operands, which no step exceeds.
ExpectedTime expected_time(const TrainCell& cell, const Variant& variant);
/// Too slow where steps and preparation do not fit into the request's seconds.
void refuse_what_is_slow(const TrainCell& cell, const ExpectedTime& expected, Variant& variant);
/// Notes how fast the variant ran, for the cells after it.
void note_reached(TrainCell& cell, const Variant& variant);

}  // namespace assay
