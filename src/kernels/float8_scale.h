#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/kernel.h"
#include "program/float8_history.h"
#include "tensor/dtype.h"

namespace assay {

/// Says of a prepared op::round_float8 what it stands in for: no product of 8 bits follows.
Prepared emulating_float8(const Call& call, Prepared prepared);

/// The largest finite number of e4m3 or e5m2.
constexpr float float8_limit(DType dtype) {
  return dtype == DType::e4m3 ? 448.0F : 57344.0F;
}

/// The largest power of two that keeps `largest` times it within the format's limit, 2^-100 to 2^100; 1 for 0.
inline float float8_scale(DType dtype, float largest) {
  if (!(largest > 0) || !std::isfinite(largest)) return 1;
  constexpr int most = 100;
  int exponent = 0;
  const float significand = 2 * std::frexp(largest, &exponent);  // in [1, 2); largest = significand 2^(exponent - 1)
  const int of_limit = dtype == DType::e4m3 ? 8 : 15;            // both limits are 1.75 times such a power of two
  const int power = of_limit - (exponent - 1) - (significand > 1.75F ? 1 : 0);
  return std::ldexp(1.0F, power < -most ? -most : power > most ? most : power);
}

/// The largest magnitude of the steps before; 0: there was none.
inline float float8_past(const float* history) {
  float most = 0;
  for (std::int64_t i = float8_before; i < float8_history_size; ++i) most = history[i] > most ? history[i] : most;
  return most;
}

/// What a run saw of a tensor.
struct Float8Seen {
  float largest = 0;     ///< Of finite values.
  double saturated = 0;  ///< How many.
  double flushed = 0;
};

/// Adds a run over `count` values to a history.
inline void keep_float8(const Float8Seen& seen, std::int64_t count, float* history) {
  history[float8_largest] = std::fmax(history[float8_largest], seen.largest);
  history[float8_saturated] = static_cast<float>(count == 0 ? 0 : seen.saturated / static_cast<double>(count));
  history[float8_flushed] = static_cast<float>(count == 0 ? 0 : seen.flushed / static_cast<double>(count));
}

}  // namespace assay
