#pragma once

#include <cstdint>

#include "kernels/cpu/rows.h"

namespace assay::cpu {

/// Keys or values of earlier tokens: (batch, slots, kv_heads * head_dim), in s8 with a scale a slot and head.
struct KeptRows {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  const float* scales = nullptr;  ///< (batch, slots, kv_heads); null but for s8
};

/// Where attention over a cache finds everything while it runs.
struct CachedWork {
  Attributes attributes;
  std::int64_t batch = 0;
  std::int64_t seq = 0;
  std::int64_t slots = 0;
  SourceRows q;
  KeptRows k, v;
  const std::uint8_t* mask = nullptr;     ///< Of the new tokens; null: all are real.
  const std::int32_t* lengths = nullptr;  ///< Tokens that each row held before.
  const float* sinks = nullptr;           ///< Of each head, absent where null.
  SinkRows y;

  std::int64_t group_heads() const { return attributes.heads / attributes.kv_heads; }
  std::int64_t row_elements() const { return attributes.kv_heads * attributes.head_dim; }
};
CachedWork cached_work(const Call& call, const Memory& memory);

/// How many tokens of row `batch` query `query` is the last of: those held before, and the real new ones up to it.
inline std::int64_t tokens_until(const CachedWork& work, std::int64_t batch, std::int64_t query) {
  std::int64_t tokens = work.lengths[batch];
  if (work.mask == nullptr) return tokens + query + 1;
  const std::uint8_t* mask = work.mask + batch * work.seq;
  for (std::int64_t t = 0; t <= query; ++t) tokens += mask[t] != 0 ? 1 : 0;
  return tokens;
}

/// The tokens that any query of row `batch` sees.
inline CachedKeys seen_tokens(const CachedWork& work, std::int64_t batch) {
  return {cached_keys(work.attributes, tokens_until(work, batch, 0)).begin, tokens_until(work, batch, work.seq - 1)};
}

/// In words, what vector code cannot take of the call; null where it can take all.
const char* unfit_for_cache(const Call& call);

}  // namespace assay::cpu
