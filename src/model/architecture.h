#pragma once

#include "model/config.h"
#include "program/program.h"

namespace assay {

enum class LogitRows : std::uint8_t { all, last };
enum class HiddenStates : std::uint8_t { dropped, kept };
enum class Objective : std::uint8_t { none, cross_entropy };

struct ProgramOptions {
  LogitRows logits = LogitRows::all;  ///< Language models: every position, or the last of each row.
  HiddenStates hidden = HiddenStates::dropped;
  Objective objective = Objective::none;
  double dropout = 0;  ///< Rate, wherever the family drops out in training; 0 where it has none.
};

/// The model as a Program of primitive operations, f32 throughout.
///
/// inputs:  input_ids s32 (B, T), attention_mask u8 (B, T; 1 is real)
/// outputs: language model: logits (B, T, V), or (B, V) with LogitRows::last
///          classification: logits (B, labels); embedding: logits (B, d_model), the mean over real positions
///          with HiddenStates::kept also hidden.0 (embedding output) .. hidden.L (each block's), (B, T, d_model)
///
///          with Objective::cross_entropy also loss, f32 (1), of the further input
///          labels s32: language model: (B, T), what each position is to predict; else (B); negative ones do not count
/// With dropout there is a further input: seed s32 (2).
///
/// Weights carry the names of the family's published checkpoints, without the family's prefix.
Program build_program(const ModelConfig& config, const ProgramOptions& options);

}  // namespace assay
