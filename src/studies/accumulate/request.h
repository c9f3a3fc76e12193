#pragma once

#include <cstdint>

#include "results/document.h"

namespace assay {

/// What is added, how often. The same question is put to every dtype and every way of adding.
struct AccumulateRequest {
  double addend = 0.01;       ///< Finite, not 0, within f32's range.
  std::int64_t count = 1000;  ///< 1 to 10,000,000.
  std::uint64_t seed = 0;     ///< Of stochastic rounding.
  int chunk = 64;             ///< Terms added in the narrow dtype before the flush to f32, as fp16-acc16 does.
};

/// Adds the number in every dtype and every way. Throws a user error where the request is out of range.
Document accumulate(const AccumulateRequest& request);

}  // namespace assay
