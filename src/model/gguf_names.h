#pragma once

#include <string>
#include <string_view>

#include "model/families.h"

namespace assay {

/// "blk.3.attn_q.weight" -> "layers.3.self_attn.q_proj.weight"; unknown names stay as they are. That of experts that
/// stand together keeps its '*'.
std::string canonical_gguf_name(std::string_view name, const GgufNames& names);

/// Llama's rows and those of families that are converted as it is.
extern const char* const gguf_paired_rows[4];

extern const GgufNames llama_gguf, mixtral_gguf, smollm3_gguf, granite_gguf, qwen2_gguf, qwen3_gguf, qwen3_moe_gguf,
    olmo2_gguf, gpt_oss_gguf, phi3_gguf, stablelm_gguf, gpt_neox_gguf, gemma_gguf, gemma2_gguf, gemma3_gguf;

}  // namespace assay
