#pragma once

#include "model/config.h"
#include "program/program.h"

namespace assay {

enum class LogitRows : std::uint8_t { all, last };
enum class HiddenStates : std::uint8_t { dropped, kept };
/// The input of token types.
inline constexpr const char* token_type_ids_name = "token_type_ids";
/// What a model with token types is told of them: nothing, where every token is of type 0, or each token's.
enum class TokenTypes : std::uint8_t { zero, given };
enum class Objective : std::uint8_t { none, cross_entropy };

struct ProgramOptions {
  LogitRows logits = LogitRows::all;  ///< Language models: every position, or the last of each row.
  HiddenStates hidden = HiddenStates::dropped;
  TokenTypes token_types = TokenTypes::zero;
  Objective objective = Objective::none;
  double adapter_dropout = 0;  ///< Of what adapters read, in training.
  double dropout = 0;          ///< Rate, wherever the family drops out in training; 0 where it has none.
};

/// The model as a Program of primitive operations, f32 throughout.
///
/// inputs:  input_ids s32 (B, T), attention_mask u8 (B, T; 1 is real)
///          with TokenTypes::given, of a model that has them, token_type_ids s32 (B, T)
/// outputs: language model, masked language model: logits (B, T, V); of the first also (B, V) with LogitRows::last
///          classification: logits (B, labels), of tokens (B, T, labels); embedding: logits (B, d_model)
///          with HiddenStates::kept also hidden.0 (embedding output) .. hidden.L (each block's), (B, T, d_model)
///
///          with Objective::cross_entropy also loss, f32 (1), of the further input
///          labels s32: (B, T), what each position is to predict, where every token has logits; else (B); negative ones
///          do not count
/// With dropout there are further inputs: seed s32 (2), and first_row s32 (1): the place of the first row in its step.
///
/// A configuration with adapters has them beside its linear layers (program/adapters.h).
///
/// Weights carry the names of the family's published checkpoints, without the family's prefix.
Program build_program(const ModelConfig& config, const ProgramOptions& options);

}  // namespace assay
