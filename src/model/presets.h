#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"
#include "model/weights.h"
#include "program/program.h"

namespace assay {

/// A published size without its weights.
struct Preset {
  const char* name;
  ModelConfig config;
};

/// gpt2 .. gpt2-xl, distilbert-base, bert-base, cs336-small .. cs336-10b.
const std::vector<Preset>& presets();
const Preset* find_preset(std::string_view name);

/// Weights for every parameter that `program` reads, drawn from the family's own initialisation:
/// gpt2: normal(0, 0.02), residual projections divided by sqrt(2 layers), biases 0, gains 1 (Radford et al. 2019);
/// bert, distilbert: normal(0, 0.02), biases 0, gains 1;
/// cs336: linears normal(0, 2 / (in + out)) cut at 3 standard deviations, embeddings normal(0, 1) cut at 3, gains 1.
/// Element i of a weight is a function of (seed, name, i) alone.
Weights random_weights(const Program& program, const ModelConfig& config, std::uint64_t seed);

}  // namespace assay
