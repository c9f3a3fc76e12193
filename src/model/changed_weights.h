#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/weights.h"

namespace assay {

/// A matrix as s8 codes and a scale a row: value (i, j) is codes[i * columns + j] * scales[i].
struct RowCodes {
  std::vector<std::int8_t> codes = {};
  std::vector<float> scales = {};

  bool operator==(const RowCodes&) const = default;
};

/// What becomes of a parameter when it is read: each where it is not empty, in this order.
struct WeightChange {
  std::vector<float> added = {};      ///< Is added to entry i of a vector.
  std::vector<float> by_column = {};  ///< Column j of a matrix is multiplied by by_column[j].
  std::vector<float> by_row = {};     ///< Row i of a matrix, or entry i of a vector, is multiplied by by_row[i].
  float offset = 0;                   ///< Of a vector: x becomes (x + offset) by_row[i] - offset.
  RowCodes codes = {};                ///< Where there are any, a matrix is these, whatever else would become of it.

  bool operator==(const WeightChange&) const = default;
};
using WeightChanges = std::map<std::string, WeightChange>;

/// The weights as they are, but those in `changes`, which are changed in f32 when they are read: `changes` may still be
/// written to until then. Every width must be that of the parameter.
Weights changed_weights(const Weights& weights, const std::shared_ptr<const WeightChanges>& changes);

}  // namespace assay
