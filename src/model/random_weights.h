#pragma once

#include <cstdint>

#include "model/config.h"
#include "model/weights.h"
#include "program/program.h"

namespace assay {

/// How the values of a parameter are drawn: normal(0, deviation) cut at `cut` deviations (0: not cut), or the constant
/// where the deviation is 0.
struct Distribution {
  double deviation = 0;
  double cut = 0;
  float constant = 0;
};

/// normal(0, initializer_range), whatever matrix it is.
Distribution initial_normal(const Value& weight, const ModelConfig& config);

/// The Philox stream from which the parameter of that name is drawn.
std::uint64_t stream_of(const std::string& name);

/// Weights for every parameter that `program` reads: matrices as the family draws them, biases 0, gains 1. Element i of
/// a weight is a function of (seed, name, i) alone.
Weights random_weights(const Program& program, const ModelConfig& config, std::uint64_t seed);

}  // namespace assay
