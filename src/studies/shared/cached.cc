#include "studies/shared/cached.h"

#include <algorithm>

#include "base/error.h"

namespace assay {

void check_generates(const Model& model) {
  if (model.config.task != Task::language_model)
    fail_user("{}: is a {}: only a language model generates", model.name, name(model.config.task));
}

void check_padding(const TokenBatch& batch, const std::string& file) {
  for (std::int64_t row = 0; row < batch.batch && !batch.attention_mask.empty(); ++row) {
    const auto begin = batch.attention_mask.begin() + row * batch.seq;
    const auto end = begin + batch.seq;
    const auto first_real = std::find(begin, end, 1);
    const auto behind = std::find(first_real, end, 0);
    const auto again = std::find(behind, end, 1);
    if (again != end)
      fail_user(
          "{}: attention_mask: row {} is real again at position {}, behind padding: rows are padded on either side",
          file, row, again - begin);
  }
}

void refuse_padding(QualitySet& set, const std::string& file) {
  for (QualityBatch& batch : set.batches) {
    if (std::find(batch.mask.begin(), batch.mask.end(), 0) != batch.mask.end())
      fail_user("{}: what goes through a cache is scored on windows of text: rows with padding are not among them",
                file);
    batch.mask.clear();
  }
}

EngineOptions engine_with_cache(EngineOptions engine, std::int64_t tokens) {
  engine.cache = CacheSize{.capacity = tokens, .chunk = std::clamp<std::int64_t>(tokens - 1, 1, prefill_chunk)};
  engine.program.logits = LogitRows::last;
  return engine;
}

}  // namespace assay
