#pragma once

#include "model/families.h"

namespace assay {

/// ModernBERT (Warner et al. 2024): norms before attention and MLP, rotary positions of two bases, windows in all but
/// every third layer, gated MLPs.
extern const TensorNames modernbert_tensors;
ModelConfig parse_modernbert(const ConfigReader& in);
Json write_modernbert(const ModelConfig& config);
void emit_modernbert(Blocks& b);

}  // namespace assay
