#pragma once

#include "model/families.h"

namespace assay {

/// Llama (Touvron et al. 2023).
ModelConfig parse_llama(const ConfigReader& in);
Json write_llama(const ModelConfig& config);
void emit_llama(Blocks& b);
extern const TensorNames llama_tensors;
extern const GgufNames llama_gguf;

/// The model of Stanford's course CS336, assignment 1: the same arithmetic but for its rotary pairs.
ModelConfig parse_cs336(const ConfigReader& in);
Json write_cs336(const ModelConfig& config);
void emit_cs336(Blocks& b);
/// Linears normal(0, 2 / (in + out)) and embeddings normal(0, 1), both cut at 3 standard deviations.
Distribution initial_cs336(const Value& weight, const ModelConfig& config);
extern const TensorNames cs336_tensors;

}  // namespace assay
