#pragma once

#include <span>
#include <vector>

namespace assay {

/// What one step of s8 stands for, and how that was found.
struct StaticScale {
  const char* method = "";
  double scale = 0;
};

/// Scales for values of a tensor, of which `largest` is the largest magnitude of all and `values` are some. By name:
///
/// - min-max: the largest magnitude is the last step.
/// - 99.99 and 99.9 percentile: so much of the magnitudes lies below the last step.
/// - least squares: least mean squared error of the rounded values.
/// - entropy: least Kullback-Leibler divergence of the histogram from what 128 levels make of it (Migacz, "8-bit
///   inference with TensorRT", 2017).
///
/// All but the first by a histogram of 2,048 bins of `values`; where those are all nothing, the first alone.
std::vector<StaticScale> scale_choices(std::span<const float> values, float largest);

/// That of least squares.
StaticScale least_squares_scale(std::span<const float> values, float largest);

}  // namespace assay
