#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "generation/session.h"
#include "program/passes.h"
#include "text/corpus.h"

namespace assay {

/// How large a cache must be for tokens that come in those pieces. Throws a user error where the pieces are not whole
/// columns, one behind the other, of all that there are.
CacheSize cache_for(std::span<const std::int64_t> chunks, const TokenBatch& tokens);

/// The columns of the batch in those pieces through the session, and its outputs (B, T, width) put together again.
/// Positions count from column 0, as without a cache.
std::map<std::string, Tensor> run_in_chunks(Session& session, std::span<const std::int64_t> chunks,
                                            const TokenBatch& tokens);

}  // namespace assay
