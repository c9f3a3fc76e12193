#pragma once

#include "base/json_fwd.h"
#include "model/config.h"

namespace assay {

class Blocks;
class ConfigReader;

/// Gemma (Gemma Team 2024): norms that multiply by 1 + weight, embeddings times sqrt(width).
ModelConfig parse_gemma(const ConfigReader& in);
Json write_gemma(const ModelConfig& config);

/// Gemma 2 (Gemma Team 2024): norms around attention and MLP, soft caps, windows in every other layer.
ModelConfig parse_gemma2(const ConfigReader& in);
Json write_gemma2(const ModelConfig& config);
void emit_gemma2(Blocks& b);

/// The text half of Gemma 3 (Gemma Team 2025): norms of queries and keys in the place of caps, windows in five of six
/// layers, which turn by a base of their own.
ModelConfig parse_gemma3(const ConfigReader& in);
Json write_gemma3(const ModelConfig& config);
void emit_gemma3(Blocks& b);

}  // namespace assay
