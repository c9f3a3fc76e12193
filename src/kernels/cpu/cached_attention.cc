#include "kernels/cpu/blocking.h"
#include "kernels/cpu/cached_attention_work.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/cached_attention.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include <fmt/format.h>
#include <hwy/cache_control.h>

#include <limits>

#include "kernels/cpu/cached_attention_partial.h"
#include "kernels/cpu/vector_math-inl.h"

// A few new queries over many old keys: every key and value is read once, as it lies, for all queries of its head.
// Work is divided by tokens, since one row of the batch may be all there is; each stretch leaves a partial softmax, and
// these are merged (Milakov & Gimelshein 2018, "Online normalizer calculation for softmax").

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// Queries that share what is loaded: as many as leave registers for the sums of four tokens each. Loops over sums are
/// unrolled by a pragma each: otherwise the sums lie in memory.
constexpr std::int64_t most_queries = HWY_TARGET <= HWY_AVX3 ? 4 : 3;
constexpr std::int64_t tokens_at_once = 4;
constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

// ---- Rows as they are kept.

template <DType dtype>
HWY_INLINE V32 load_kept(const std::byte* row, std::int64_t i) {
  if constexpr (dtype == DType::f32) {
    return hn::LoadU(f32_lanes, reinterpret_cast<const float*>(row) + i);
  } else if constexpr (dtype == DType::bf16) {
    return widen_bf16(row + 2 * i);
  } else if constexpr (dtype == DType::f16) {
    return widen_f16(row + 2 * i);
  } else {
    return widen_s8(row + i);
  }
}

/// A vector of a row of `width` columns, zeros behind them.
template <DType dtype>
HWY_INLINE V32 load_kept(const std::byte* row, std::int64_t i, std::int64_t width) {
  if (i + lane_count() <= width) return load_kept<dtype>(row, i);
  return load_first({row, dtype}, i, width - i);
}

/// Keys or values of one key head in consecutive slots.
struct HeadRows {
  const std::byte* rows;
  std::int64_t stride_bytes;
  const float* scales;  ///< `heads` apart; null but for s8.
  std::int64_t heads;

  const std::byte* operator[](std::int64_t token) const { return rows + token * stride_bytes; }
};

/// Asks for `bytes` of the row that is read a block of tokens later. What one head has of rows lies in pieces of a few
/// lines, which hardware does not ask for early enough: a cache beyond the last level comes several times as fast so.
HWY_INLINE void fetch_ahead(const HeadRows& rows, std::int64_t token, std::int64_t bytes) {
  const std::byte* row = rows[token + block_tokens];
  for (std::int64_t at = 0; at < bytes; at += line_bytes) hwy::Prefetch(row + at);
}

HeadRows head_rows(const KeptRows& kept, const CachedWork& work, std::int64_t slot, std::int64_t head) {
  const std::int64_t element = bytes_of(kept.dtype);
  const std::int64_t stride = work.row_elements() * element;
  const std::int64_t heads = work.attributes.kv_heads;
  return {kept.data + slot * stride + head * work.attributes.head_dim * element, stride,
          kept.scales == nullptr ? nullptr : kept.scales + slot * heads + head, heads};
}

// ---- Products of queries with the keys of a block, and of their probabilities with its values.

#if HWY_TARGET == HWY_SCALAR  // It has no blocks.
HWY_INLINE void store_sums(const V32 (&of)[tokens_at_once], float* to) {
  for (std::int64_t t = 0; t < tokens_at_once; ++t) to[t] = sum_of(of[t]);
}
#else
/// Blocks of 128 bits added up.
template <typename D>
HWY_INLINE auto sum_of_blocks(D, hn::Vec<D> value) {
  if constexpr (hn::MaxLanes(D()) <= tokens_at_once) {
    return value;
  } else {
    const hn::Half<D> half;
    return sum_of_blocks(half, hn::Add(hn::LowerHalf(half, value), hn::UpperHalf(half, value)));
  }
}

/// The sums of four vectors' lanes side by side: a third of the steps that four sums take alone.
HWY_INLINE void store_sums(const V32 (&of)[tokens_at_once], float* to) {
  const hn::RepartitionToWide<F32> pairs;
  const auto halves = [&](V32 a, V32 b) HWY_ATTR {
    return hn::BitCast(pairs, hn::Add(hn::InterleaveLower(f32_lanes, a, b), hn::InterleaveUpper(f32_lanes, a, b)));
  };
  const auto left = halves(of[0], of[1]);
  const auto right = halves(of[2], of[3]);
  const V32 sums = hn::Add(hn::BitCast(f32_lanes, hn::InterleaveLower(pairs, left, right)),
                           hn::BitCast(f32_lanes, hn::InterleaveUpper(pairs, left, right)));
  hn::StoreU(sum_of_blocks(f32_lanes, sums), hn::CappedTag<float, tokens_at_once>(), to);
}
#endif

/// scores (queries, block_tokens) of tokens [first, first + 4), of which `count` exist.
template <DType dtype, std::int64_t queries>
HWY_INLINE void multiply_four_keys(const PartialShape& shape, const float* q, const HeadRows& keys, std::int64_t first,
                                   std::int64_t count, float* scores) {
  const std::byte* rows[tokens_at_once];
  V32 sums[queries][tokens_at_once];
#pragma GCC unroll 4
  for (std::int64_t t = 0; t < tokens_at_once; ++t) {
    rows[t] = keys[first + std::min(t, count - 1)];
    fetch_ahead(keys, first + t, shape.head_dim * bytes_of(dtype));
#pragma GCC unroll 4
    for (std::int64_t c = 0; c < queries; ++c) sums[c][t] = hn::Zero(f32_lanes);
  }
  for (std::int64_t i = 0; i < shape.head_dim; i += lane_count()) {
#pragma GCC unroll 4
    for (std::int64_t t = 0; t < tokens_at_once; ++t) {
      const V32 key = load_kept<dtype>(rows[t], i, shape.head_dim);
#pragma GCC unroll 4
      for (std::int64_t c = 0; c < queries; ++c)
        sums[c][t] = hn::MulAdd(hn::LoadU(f32_lanes, q + c * shape.padded_dim + i), key, sums[c][t]);
    }
  }
#pragma GCC unroll 4
  for (std::int64_t c = 0; c < queries; ++c) store_sums(sums[c], scores + c * block_tokens + first);
}

template <DType dtype, std::int64_t queries>
void multiply_keys(const PartialShape& shape, const float* q, const HeadRows& keys, std::int64_t tokens,
                   float* scores) {
  for (std::int64_t t = 0; t < tokens; t += tokens_at_once)
    multiply_four_keys<dtype, queries>(shape, q, keys, t, std::min(tokens_at_once, tokens - t), scores);
}

/// Columns [i, i + vectors) of each query's context += its probabilities times the values.
template <DType dtype, std::int64_t queries, std::int64_t vectors>
HWY_INLINE void add_value_columns(const PartialShape& shape, const float* p, const HeadRows& values,
                                  std::int64_t tokens, std::int64_t i, float* context) {
  V32 sums[queries][vectors];
  const auto at = [&](std::int64_t c, std::int64_t v) { return context + c * shape.floats() + i + v * lane_count(); };
#pragma GCC unroll 16
  for (std::int64_t n = 0; n < queries * vectors; ++n)
    sums[n / vectors][n % vectors] = hn::LoadU(f32_lanes, at(n / vectors, n % vectors));
  for (std::int64_t t = 0; t < tokens; ++t) {
    fetch_ahead(values, t, i == 0 ? shape.head_dim * bytes_of(dtype) : 0);
#pragma GCC unroll 4
    for (std::int64_t v = 0; v < vectors; ++v) {
      const V32 value = load_kept<dtype>(values[t], i + v * lane_count(), shape.head_dim);
#pragma GCC unroll 4
      for (std::int64_t c = 0; c < queries; ++c)
        sums[c][v] = hn::MulAdd(hn::Set(f32_lanes, p[c * block_tokens + t]), value, sums[c][v]);
    }
  }
#pragma GCC unroll 16
  for (std::int64_t n = 0; n < queries * vectors; ++n)
    hn::StoreU(sums[n / vectors][n % vectors], f32_lanes, at(n / vectors, n % vectors));
}

template <DType dtype, std::int64_t queries>
void multiply_values(const PartialShape& shape, const float* p, const HeadRows& values, std::int64_t tokens,
                     float* context) {
  constexpr std::int64_t vectors = 4;
  std::int64_t i = 0;
  for (; i + vectors * lane_count() <= shape.padded_dim; i += vectors * lane_count())
    add_value_columns<dtype, queries, vectors>(shape, p, values, tokens, i, context);
  for (; i < shape.head_dim; i += lane_count())
    add_value_columns<dtype, queries, 1>(shape, p, values, tokens, i, context);
}

struct BlockProducts {
  decltype(&multiply_keys<DType::f32, 1>) keys;
  decltype(&multiply_values<DType::f32, 1>) values;
};

template <DType dtype>
BlockProducts products_of(std::int64_t queries) {
  if (queries == 1) return {multiply_keys<dtype, 1>, multiply_values<dtype, 1>};
  if (queries == 2) return {multiply_keys<dtype, 2>, multiply_values<dtype, 2>};
  if constexpr (most_queries == 4) {
    if (queries == 4) return {multiply_keys<dtype, 4>, multiply_values<dtype, 4>};
  }
  return {multiply_keys<dtype, 3>, multiply_values<dtype, 3>};
}

BlockProducts products_of(DType dtype, std::int64_t queries) {
  if (dtype == DType::f32) return products_of<DType::f32>(queries);
  if (dtype == DType::bf16) return products_of<DType::bf16>(queries);
  if (dtype == DType::f16) return products_of<DType::f16>(queries);
  return products_of<DType::s8>(queries);
}

// ---- The softmax so far.

/// use(scores + t, t) for each vector of a block's scores.
template <typename Use>
HWY_INLINE void for_block(float* scores, std::int64_t tokens, Use&& use) {
  for (std::int64_t t = 0; t < tokens; t += lane_count()) use(scores + t);
}

/// Products to scores: scaled, capped, and -infinity outside of the tokens [seen.begin, seen.end) of the block. Returns
/// the largest.
float finish_scores(const Attributes& a, const HeadRows& keys, CachedKeys seen, std::int64_t tokens, float* scores) {
  for (std::int64_t t = 0; keys.scales != nullptr && t < tokens; ++t) scores[t] *= keys.scales[t * keys.heads];
  const std::int64_t padded = (tokens + lane_count() - 1) / lane_count() * lane_count();
  std::fill(scores + tokens, scores + padded, 0.0F);
  if (a.cap > 0) {
    const V32 share = constant(static_cast<float>(a.scale / a.cap));
    const V32 cap = constant(static_cast<float>(a.cap));
    for_block(scores, tokens, [&](float* at) HWY_ATTR {
      hn::StoreU(hn::Mul(tanh(hn::Mul(hn::LoadU(f32_lanes, at), share)), cap), f32_lanes, at);
    });
  } else {
    const V32 scale = constant(static_cast<float>(a.scale));
    for_block(scores, tokens,
              [&](float* at) HWY_ATTR { hn::StoreU(hn::Mul(hn::LoadU(f32_lanes, at), scale), f32_lanes, at); });
  }
  std::fill(scores, scores + std::clamp<std::int64_t>(seen.begin, 0, padded), minus_infinity);
  std::fill(scores + std::clamp<std::int64_t>(seen.end, 0, tokens), scores + padded, minus_infinity);
  V32 most = constant(minus_infinity);
  for_block(scores, tokens, [&](const float* at) HWY_ATTR { most = hn::Max(most, hn::LoadU(f32_lanes, at)); });
  return max_of(most);
}

/// Scores to e^(score - the largest so far), and what came before scaled to that.
void fold_in(const PartialShape& shape, float largest, std::int64_t tokens, float* scores, float* partial) {
  const float before = partial[PartialShape::largest];
  largest = std::max(before, largest);
  const V32 most = constant(largest == minus_infinity ? 0 : largest);
  V32 sums = hn::Zero(f32_lanes);
  for_block(scores, tokens, [&](float* at) HWY_ATTR {
    const V32 p = exp(hn::Sub(hn::LoadU(f32_lanes, at), most));
    sums = hn::Add(sums, p);
    hn::StoreU(p, f32_lanes, at);
  });
  const float factor = before == minus_infinity ? 0 : hn::GetLane(exp(constant(before - largest)));
  partial[PartialShape::largest] = largest;
  partial[PartialShape::sum] = partial[PartialShape::sum] * factor + sum_of(sums);
  float* context = partial + PartialShape::context;
  for (std::int64_t i = 0; factor != 1 && i < shape.padded_dim; i += lane_count())
    hn::StoreU(hn::Mul(hn::LoadU(f32_lanes, context + i), constant(factor)), f32_lanes, context + i);
}

/// Each probability times the scale that its value has in s8.
void lend_scales(const HeadRows& values, std::int64_t tokens, float* p) {
  for (std::int64_t t = 0; values.scales != nullptr && t < tokens; ++t) p[t] *= values.scales[t * values.heads];
}

// ---- A stretch of a row's tokens.

/// One key head's queries, of all new tokens: number n is token n / group_heads, head n % group_heads of the group.
struct HeadQueries {
  const CachedWork& work;
  const PartialShape& shape;
  std::int64_t batch;
  std::int64_t head;  ///< Key head.
  float* q;           ///< (queries, padded_dim), zeros behind head_dim
  float* scores;      ///< (most_queries, block_tokens)
  float* partials;    ///< (queries, shape.floats())

  std::int64_t count() const { return work.seq * work.group_heads(); }

  void load() const {
    const Attributes& a = work.attributes;
    std::fill(q, q + count() * shape.padded_dim, 0.0F);
    for (std::int64_t n = 0; n < count(); ++n) {
      const std::int64_t head_of = head * work.group_heads() + n % work.group_heads();
      const Source from = shifted(work.q[batch * work.seq + n / work.group_heads()], head_of * a.head_dim);
      for_vectors(a.head_dim, [&](auto lanes, std::int64_t i)
                                  HWY_ATTR { lanes.put(lanes.get(from, i), sink_of(q + n * shape.padded_dim), i); });
      float* partial = partials + n * shape.floats();
      std::fill(partial, partial + shape.floats(), 0.0F);
      partial[PartialShape::largest] = minus_infinity;
    }
  }

  /// Tokens [first, first + tokens) of the row, which lie in consecutive slots.
  void attend(std::int64_t first, std::int64_t tokens, const HeadRows& keys, const HeadRows& values) const {
    for (std::int64_t n = 0; n < count(); n += most_queries) {
      const std::int64_t queries = std::min(most_queries, count() - n);
      const BlockProducts products = products_of(work.k.dtype, queries);
      products.keys(shape, q + n * shape.padded_dim, keys, tokens, scores);
      for (std::int64_t c = 0; c < queries; ++c) {
        const std::int64_t until = tokens_until(work, batch, (n + c) / work.group_heads());
        const CachedKeys seen = cached_keys(work.attributes, until);
        float* row = scores + c * block_tokens;
        const float largest = finish_scores(work.attributes, keys, {seen.begin - first, seen.end - first}, tokens, row);
        fold_in(shape, largest, tokens, row, partials + (n + c) * shape.floats());
        lend_scales(values, tokens, row);
      }
      products.values(shape, scores, values, tokens, partials + n * shape.floats() + PartialShape::context);
    }
  }
};

/// Tokens of a row for all heads. scratch: f32 (heads * seq, padded_dim), then (most_queries, block_tokens); partials:
/// (kv_heads, queries of a head, shape.floats()).
void attend_stretch(const CachedWork& work, const PartialShape& shape, std::int64_t batch, CachedKeys stretch,
                    float* scratch, float* partials) {
  const std::int64_t heads = work.attributes.kv_heads;
  const std::int64_t queries = work.seq * work.group_heads();
  float* scores = scratch + heads * queries * shape.padded_dim;
  const auto of_head = [&](std::int64_t head) {
    return HeadQueries{work,
                       shape,
                       batch,
                       head,
                       scratch + head * queries * shape.padded_dim,
                       scores,
                       partials + head * queries * shape.floats()};
  };
  for (std::int64_t head = 0; head < heads; ++head) of_head(head).load();
  for (std::int64_t first = stretch.begin, tokens = 0; first < stretch.end; first += tokens) {
    const std::int64_t slot = first % work.slots;
    tokens = std::min({block_tokens, stretch.end - first, work.slots - slot});
    for (std::int64_t head = 0; head < heads; ++head)
      of_head(head).attend(first, tokens, head_rows(work.k, work, batch * work.slots + slot, head),
                           head_rows(work.v, work, batch * work.slots + slot, head));
  }
}

/// What `count` stretches of a query have given, `apart` floats from each other, to its place. `sink`: a score of no
/// key, null where there is none.
void merge_partials(const PartialShape& shape, const float* partials, std::int64_t count, std::int64_t apart,
                    const float* sink, Sink y) {
  float largest = sink == nullptr ? minus_infinity : *sink;
  for (std::int64_t s = 0; s < count; ++s) largest = std::max(largest, partials[s * apart + PartialShape::largest]);
  const auto share = [&](std::int64_t s) HWY_ATTR {
    const float own = partials[s * apart + PartialShape::largest];
    return own == minus_infinity ? 0 : hn::GetLane(exp(constant(own - largest)));
  };
  float sum = sink == nullptr ? 0 : hn::GetLane(exp(constant(*sink - largest)));
  for (std::int64_t s = 0; s < count; ++s) sum += share(s) * partials[s * apart + PartialShape::sum];
  const float inverse = sum == 0 ? 0 : 1 / sum;
  for_vectors(shape.head_dim, [&](auto lanes, std::int64_t i) HWY_ATTR {
    V32 total = hn::Zero(f32_lanes);
    for (std::int64_t s = 0; s < count; ++s) {
      const Source from = source_of(partials + s * apart + PartialShape::context);
      total = hn::MulAdd(constant(share(s) * inverse), lanes.get(from, i), total);
    }
    lanes.put(total, y, i);
  });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(attend_stretch);
HWY_EXPORT(merge_partials);

namespace {

constexpr std::int64_t most_queries_anywhere = 4;

/// How the work of a call is divided; sizes in floats.
struct Division {
  PartialShape shape;
  std::int64_t batch, seq, heads, stretches;

  explicit Division(const Call& call)
      : shape(call.attributes.head_dim),
        batch(call.in(0).shape[0]),
        seq(call.in(0).shape[1]),
        heads(call.attributes.heads),
        stretches(assay::cpu::stretches(batch, std::max(call.threads, 1))) {}
  std::int64_t partials() const { return seq * heads * shape.floats(); }  ///< Of one stretch.
  std::int64_t scratch() const { return seq * heads * shape.padded_dim + most_queries_anywhere * block_tokens; }
  std::size_t bytes(int threads) const {
    return sizeof(float) * static_cast<std::size_t>(batch * stretches * partials() + std::max(threads, 1) * scratch());
  }
};

/// Vector steps of a stretch of an average row.
std::int64_t steps(const CachedWork& work, const Division& division) {
  std::int64_t tokens = 0;
  for (std::int64_t batch = 0; batch < work.batch; ++batch) {
    const CachedKeys seen = seen_tokens(work, batch);
    tokens += seen.end - seen.begin;
  }
  const std::int64_t items = std::max<std::int64_t>(work.batch * division.stretches, 1);
  return tokens * work.seq * work.attributes.heads * work.attributes.head_dim / 2 / items;
}

template <typename AttendStretch, typename MergePartials>
void run_cached_attention(const CachedWork& work, const Division& division, int threads, float* workspace,
                          AttendStretch attend, MergePartials merge) {
  float* partials = workspace + std::max(threads, 1) * division.scratch();
  for_parts(work.batch * division.stretches, steps(work, division), threads,
            [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
              for (std::int64_t item = begin; item < end; ++item) {
                const std::int64_t batch = item / division.stretches;
                const std::int64_t stretch = item % division.stretches;
                const CachedKeys seen = seen_tokens(work, batch);
                const std::int64_t tokens = seen.end - seen.begin;
                attend(work, division.shape, batch,
                       {seen.begin + tokens * stretch / division.stretches,
                        seen.begin + tokens * (stretch + 1) / division.stretches},
                       workspace + part * division.scratch(), partials + item * division.partials());
              }
            });
  const std::int64_t group = work.group_heads();
  const std::int64_t heads = division.heads;
  for_parts(work.batch * work.seq * heads, 2 * division.stretches * division.shape.padded_dim, threads,
            [&](std::int64_t, std::int64_t begin, std::int64_t end) {
              for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t row = i / heads;
                const std::int64_t head = i % heads;
                const std::int64_t query = (head / group * work.seq + row % work.seq) * group + head % group;
                const float* first = partials + row / work.seq * division.stretches * division.partials();
                merge(division.shape, first + query * division.shape.floats(), division.stretches, division.partials(),
                      work.sinks == nullptr ? nullptr : work.sinks + head,
                      shifted(work.y[row], head * division.shape.head_dim));
              }
            });
}

}  // namespace

Offer cached_attention_stream(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_cache(call)) return Declined{why};
  const char* target = choose_vector_target(facts);
  const auto attend = &HWY_DYNAMIC_DISPATCH(attend_stretch);
  const auto merge = &HWY_DYNAMIC_DISPATCH(merge_partials);
  const Division division(call);
  Prepared prepared = vector_kernel(make_kernel([=](const Memory& memory) {
                                      run_cached_attention(cached_work(call, memory), division, call.threads,
                                                           reinterpret_cast<float*>(memory.workspace), attend, merge);
                                    }),
                                    target);
  prepared.workspace_bytes = division.bytes(call.threads);
  prepared.description = fmt::format("each key read once: {} f32 from {} cache", target, name(call.in(1).dtype));
  return prepared;
}

}  // namespace assay::cpu
#endif
