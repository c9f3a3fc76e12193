#pragma once

#include "base/json_fwd.h"
#include "model/config.h"

namespace assay {

class Blocks;
struct TensorNames;
class ConfigReader;

/// Mixtral (Jiang et al. 2024): Mistral whose MLPs are eight experts, two of them active.
ModelConfig parse_mixtral(const ConfigReader& in);
Json write_mixtral(const ModelConfig& config);
void emit_mixtral(Blocks& b);

/// Qwen 3 with experts (Qwen Team 2025): narrow ones, many; some layers may have one MLP after all.
ModelConfig parse_qwen3_moe(const ConfigReader& in);
Json write_qwen3_moe(const ModelConfig& config);
void emit_qwen3_moe(Blocks& b);

/// gpt-oss (OpenAI 2025): windows in every other layer, a sink a head, YaRN, clamped gates, biases everywhere.
ModelConfig parse_gpt_oss(const ConfigReader& in);
Json write_gpt_oss(const ModelConfig& config);
void emit_gpt_oss(Blocks& b);
extern const TensorNames gpt_oss_tensors;

}  // namespace assay
