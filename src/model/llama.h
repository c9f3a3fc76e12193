#pragma once

#include "model/decoder.h"
#include "model/families.h"

namespace assay {

/// Llama (Touvron et al. 2023), Mistral and SmolLM3: its layers, with biases where the configuration has them, or
/// without positions in some layers.
ModelConfig parse_llama(const ConfigReader& in);
Json write_llama(const ModelConfig& config);
void emit_llama(Blocks& b);
ModelConfig parse_mistral(const ConfigReader& in);
ModelConfig parse_ministral(const ConfigReader& in);
Json write_mistral(const ModelConfig& config);
/// Mistral with windows in some layers; read by the same entries.
Json write_ministral(const ModelConfig& config);
ModelConfig parse_smollm3(const ConfigReader& in);
Json write_smollm3(const ModelConfig& config);
/// Most families after it have these names too.
extern const DecoderNames llama_names;
extern const TensorNames llama_tensors;

/// The model of Stanford's course CS336, assignment 1: the same arithmetic but for its rotary pairs.
ModelConfig parse_cs336(const ConfigReader& in);
Json write_cs336(const ModelConfig& config);
void emit_cs336(Blocks& b);
/// Linears normal(0, 2 / (in + out)) and embeddings normal(0, 1), both cut at 3 standard deviations.
Distribution initial_cs336(const Value& weight, const ModelConfig& config);
extern const TensorNames cs336_tensors;
extern const Counterpart cs336_counterpart;

}  // namespace assay
