#pragma once

#include "model/families.h"

namespace assay {

/// DeBERTa v2 and v3 (He et al. 2021): BERT whose attention scores the distance between tokens apart from what they
/// are.
ModelConfig parse_deberta(const ConfigReader& in);
Json write_deberta(const ModelConfig& config);
void emit_deberta(Blocks& b);
extern const TensorNames deberta_tensors;

}  // namespace assay
