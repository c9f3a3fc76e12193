#pragma once

#include <string>
#include <string_view>

#include "model/families.h"
#include "tensor/tensor.h"

namespace assay {

/// "blk.3.attn_q.weight" -> "layers.3.self_attn.q_proj.weight"; unknown names stay as they are. That of experts that
/// stand together keeps its '*'.
std::string canonical_gguf_name(std::string_view name, const GgufNames& names);

/// The other way round, of a name that GGUF has; empty for others.
std::string gguf_name(const std::string& canonical, const GgufNames& names);

/// Whether it is of a norm, to which GgufNames::norm_shift is added.
bool is_gguf_norm(const std::string& canonical);

/// GGUF orders the rows of Q and K for rotary pairs (2i, 2i + 1); the Program turns (i, i + d/2). Row 2i of a head goes
/// to i, row 2i + 1 to i + d/2. `rows`: of whatever elements, or one an element.
Tensor rows_in_halves(const TensorView& rows, std::int64_t head_dim);
/// The other way round.
Tensor rows_in_pairs(const TensorView& rows, std::int64_t head_dim);

/// Llama's rows and those of families that are converted as it is.
extern const char* const gguf_paired_rows[4];

extern const GgufNames llama_gguf, mixtral_gguf, smollm3_gguf, granite_gguf, qwen2_gguf, qwen3_gguf, qwen3_moe_gguf,
    olmo2_gguf, gpt_oss_gguf, phi3_gguf, stablelm_gguf, gpt_neox_gguf, gemma_gguf, gemma2_gguf, gemma3_gguf;

}  // namespace assay
