#pragma once

#include "model/families.h"

namespace assay {

/// OLMo 2 (Walsh et al. 2025): norms behind attention and MLP; queries and keys are normalised over all heads together.
ModelConfig parse_olmo2(const ConfigReader& in);
Json write_olmo2(const ModelConfig& config);
/// OLMo 3: windows in three of four layers, whose positions are not stretched.
ModelConfig parse_olmo3(const ConfigReader& in);
Json write_olmo3(const ModelConfig& config);
void emit_olmo2(Blocks& b);

/// Phi-3 and 4: queries, keys and values in one matrix, gate and up in one; a part of each head may turn.
ModelConfig parse_phi3(const ConfigReader& in);
Json write_phi3(const ModelConfig& config);
void emit_phi3(Blocks& b);

/// StableLM 2: layer norms; a quarter of each head turns. Larger ones have attention and MLP side by side.
ModelConfig parse_stablelm(const ConfigReader& in);
Json write_stablelm(const ModelConfig& config);

/// Granite: Llama with factors of embeddings, scores, residuals and logits.
ModelConfig parse_granite(const ConfigReader& in);
Json write_granite(const ModelConfig& config);

/// GPT-J (Wang & Komatsuzaki 2021): attention and MLP side by side behind one norm; pairs of neighbours turn in the
/// first columns of each head; the head has a bias.
extern const TensorNames gptj_tensors;
ModelConfig parse_gptj(const ConfigReader& in);
Json write_gptj(const ModelConfig& config);
void emit_gptj(Blocks& b);

/// Falcon (Almazrouei et al. 2023): few key heads or one; attention and MLP side by side, each with a norm of its own
/// in the newer models, or one after the other. Without ALiBi.
extern const TensorNames falcon_tensors;
ModelConfig parse_falcon(const ConfigReader& in);
Json write_falcon(const ModelConfig& config);
void emit_falcon(Blocks& b);

}  // namespace assay
