#pragma once

#include "model/model.h"
#include "program/passes.h"
#include "studies/shared/engine.h"

namespace assay {

/// The most tokens of a prompt in one run.
constexpr std::int64_t prefill_chunk = 512;

/// Throws a user error for a model that is no language model.
void check_generates(const Model& model);

/// The options of a program that generates: its cache has room for so many tokens a row, of which one or more are new
/// behind a prompt that is read in pieces; only the last position's logits are asked for.
EngineOptions engine_with_cache(EngineOptions engine, std::int64_t tokens);

}  // namespace assay
