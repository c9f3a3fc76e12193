#pragma once

#include <string>

#include "model/model.h"
#include "program/passes.h"
#include "quality/evaluate.h"
#include "studies/shared/engine.h"
#include "text/corpus.h"

namespace assay {

/// The most tokens of a prompt in one run.
constexpr std::int64_t prefill_chunk = 512;

/// Throws a user error for a model that is no language model.
void check_generates(const Model& model);

/// Throws a user error naming `file` where padding stands between a row's real tokens: a cache keeps these alone, one
/// behind the other, so that a window would see others than it does without.
void check_padding(const TokenBatch& batch, const std::string& file);

/// Takes masks away that say that all is real. Throws a user error naming `file` for rows with padding, which are not
/// scored through a cache.
void refuse_padding(QualitySet& set, const std::string& file);

/// The options of a program that generates: its cache has room for so many tokens a row, of which one or more are new
/// behind a prompt that is read in pieces; only the last position's logits are asked for.
EngineOptions engine_with_cache(EngineOptions engine, std::int64_t tokens);

}  // namespace assay
