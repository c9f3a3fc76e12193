#pragma once

#include "model/families.h"

namespace assay {

/// GPT-2 (Radford et al. 2019).
ModelConfig parse_gpt2(const ConfigReader& in);
Json write_gpt2(const ModelConfig& config);
void emit_gpt2(Blocks& b);
/// normal(0, initializer_range), projections into the residual stream divided by sqrt(2 layers).
Distribution initial_gpt2(const Value& weight, const ModelConfig& config);
extern const TensorNames gpt2_tensors;

}  // namespace assay
