#pragma once

#include "base/json_fwd.h"
#include "model/config.h"

namespace assay {

class Blocks;
class ConfigReader;
struct TensorNames;

/// GPT-NeoX (Black et al. 2022), which Pythia is of: attention and MLP in parallel, MLPs without a gate, biases, a part
/// of each head that turns.
extern const TensorNames gpt_neox_tensors;
ModelConfig parse_gpt_neox(const ConfigReader& in);
Json write_gpt_neox(const ModelConfig& config);
void emit_gpt_neox(Blocks& b);

}  // namespace assay
