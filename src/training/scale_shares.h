#pragma once

#include <string>
#include <vector>

#include "training/trainer.h"

namespace assay {

/// What rounding to 8 bits did to one operand of a layer's products (op::round_float8).
struct ScaleShares {
  std::string layer;
  std::string operand;   ///< "x", "w" or "dy".
  double largest = 0;    ///< Magnitude before it was rounded; of several steps the largest,
  double saturated = 0;  ///< of values that the scale did not let in the mean share,
  double flushed = 0;    ///< as of those that are not zero and became it.
};
/// Of the last step; empty in other precisions. After an update.
std::vector<ScaleShares> scale_shares(const Trainer& trainer);

/// Means over steps.
class MeanScaleShares {
 public:
  void add(const std::vector<ScaleShares>& step);
  std::vector<ScaleShares> means() const;

 private:
  std::vector<ScaleShares> sums_;
  double steps_ = 0;
};

}  // namespace assay
