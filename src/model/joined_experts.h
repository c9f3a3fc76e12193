#pragma once

#include <map>
#include <string>

#include "model/config.h"
#include "model/weights.h"

namespace assay {

// gpt-oss keeps the experts of a layer in one tensor a kind, and an expert's gate and up interleaved (transformers 5,
// gpt_oss and mxfp4):
//
//   experts.gate_up_proj         float (E, d_model, 2 d_ff), columns gate 0, up 0, gate 1, ...
//   experts.down_proj            float (E, d_ff, d_model)
//   experts.NAME_bias            float (E, columns of NAME)
//   experts.NAME_blocks          or MXFP4 in its place, turned: U8 (E, columns of NAME, rows / 32, 16), the first code
//   experts.NAME_scales          of two in the low bits; U8 (E, columns of NAME, rows / 32), e8m0

/// Puts "experts.3.gate_proj.weight" (out, in), "experts.3.gate_proj.bias" (out) and so on in their place. Throws a
/// user error naming file and tensor where a shape is another than the configuration asks for.
void split_experts(std::map<std::string, Weight>& tensors, const ModelConfig& config);

}  // namespace assay
