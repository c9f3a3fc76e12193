#pragma once

#include "base/json_fwd.h"
#include "model/config.h"

namespace assay {

class Blocks;
class ConfigReader;

/// Mixtral (Jiang et al. 2024): Mistral whose MLPs are eight experts, two of them active.
ModelConfig parse_mixtral(const ConfigReader& in);
Json write_mixtral(const ModelConfig& config);
void emit_mixtral(Blocks& b);

/// Qwen 3 with experts (Qwen Team 2025): narrow ones, many; some layers may have one MLP after all.
ModelConfig parse_qwen3_moe(const ConfigReader& in);
Json write_qwen3_moe(const ModelConfig& config);
void emit_qwen3_moe(Blocks& b);

}  // namespace assay
