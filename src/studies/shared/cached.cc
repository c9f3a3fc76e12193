#include "studies/shared/cached.h"

#include <algorithm>

#include "base/error.h"

namespace assay {

void check_generates(const Model& model) {
  if (model.config.task != Task::language_model)
    fail_user("{}: is a {}: only a language model generates", model.name, name(model.config.task));
}

EngineOptions engine_with_cache(EngineOptions engine, std::int64_t tokens) {
  engine.cache = CacheSize{.capacity = tokens, .chunk = std::clamp<std::int64_t>(tokens - 1, 1, prefill_chunk)};
  engine.program.logits = LogitRows::last;
  return engine;
}

}  // namespace assay
