#pragma once

#include "model/decoder.h"
#include "model/families.h"

namespace assay {

/// Qwen2 and 2.5: Llama with biases on queries, keys and values.
ModelConfig parse_qwen2(const ConfigReader& in);
Json write_qwen2(const ModelConfig& config);

/// Qwen3: no biases, queries and keys are normalised by head.
ModelConfig parse_qwen3(const ConfigReader& in);
Json write_qwen3(const ModelConfig& config);
void emit_qwen3(Blocks& b);
/// With Qwen3's names of the norms of queries and keys.
DecoderNames with_head_norms(DecoderNames names);

}  // namespace assay
