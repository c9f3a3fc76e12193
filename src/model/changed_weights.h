#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/weights.h"

namespace assay {

/// What becomes of a parameter when it is read: each where it is not empty, in this order.
struct WeightChange {
  std::vector<float> added = {};      ///< Is added to entry i of a vector.
  std::vector<float> by_column = {};  ///< Column j of a matrix is multiplied by by_column[j].
  std::vector<float> by_row = {};     ///< Row i of a matrix, or entry i of a vector, is multiplied by by_row[i].

  bool operator==(const WeightChange&) const = default;
};
using WeightChanges = std::map<std::string, WeightChange>;

/// The weights as they are, but those in `changes`, which are changed in f32 when they are read: `changes` may still be
/// written to until then. Every width must be that of the parameter.
Weights changed_weights(const Weights& weights, const std::shared_ptr<const WeightChanges>& changes);

}  // namespace assay
