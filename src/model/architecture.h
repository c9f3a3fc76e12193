#pragma once

#include "model/config.h"
#include "program/program.h"

namespace assay {

enum class LogitRows : std::uint8_t { all, last };
enum class HiddenStates : std::uint8_t { dropped, kept };

struct ProgramOptions {
  LogitRows logits = LogitRows::all;  ///< Language models: every position, or the last of each row.
  HiddenStates hidden = HiddenStates::dropped;
};

/// The model as a Program of primitive operations, f32 throughout.
///
/// inputs:  input_ids s32 (B, T), attention_mask u8 (B, T; 1 is real)
/// outputs: language model: logits (B, T, V), or (B, V) with LogitRows::last
///          classification: logits (B, labels); embedding: logits (B, d_model), the mean over real positions
///          with HiddenStates::kept also hidden.0 (embedding output) .. hidden.L (each block's), (B, T, d_model)
///
/// Weights carry the names of the family's published checkpoints, without the family's prefix.
Program build_program(const ModelConfig& config, const ProgramOptions& options);

}  // namespace assay
