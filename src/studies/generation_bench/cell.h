#pragma once

#include <cstdint>
#include <vector>

#include "model/model.h"
#include "program/passes.h"
#include "studies/generation_bench/request.h"
#include "studies/shared/cached.h"

namespace assay {

struct GenerationCell {
  std::int64_t batch = 1;
  std::int64_t depth = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t new_tokens = 0;

  std::int64_t behind_prompt() const { return depth + prompt_tokens; }
  std::int64_t tokens() const { return behind_prompt() + new_tokens; }
  /// The first ones of a round, which stand apart: what the prompt left in the caches is not what tokens leave there.
  std::int64_t first_tokens() const { return new_tokens > 8 ? 4 : new_tokens / 2; }
};

/// The cells of the request, each once. Throws a user error for one that the model's context has no room for.
std::vector<GenerationCell> generation_cells(const Model& model, const GenerationBenchRequest& request);

/// A cache in which every cell fits. A ring has room for a round's tokens beside its window, so that a round can be
/// taken back.
CacheSize cache_of_all(const std::vector<GenerationCell>& cells);
/// The cache that the cell needs where nothing is taken back.
CacheSize cache_of(const GenerationCell& cell);

}  // namespace assay
