// Included once for each instruction set, by each file that Highway compiles for several.
#if defined(ASSAY_KERNELS_CPU_ATTENTION_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_CPU_ATTENTION_SOFTMAX_INL_H_
#undef ASSAY_KERNELS_CPU_ATTENTION_SOFTMAX_INL_H_
#else
#define ASSAY_KERNELS_CPU_ATTENTION_SOFTMAX_INL_H_
#endif

#include <cmath>
#include <limits>

#include "kernels/cpu/attention_work.h"
#include "kernels/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// ---- Which keys a query sees, and its softmax over them.

/// Which keys of a batch are real; their bias, where there are holes between them, goes to the scratch.
inline RealKeys load_mask(const AttentionWork& work, std::int64_t batch, std::byte* scratch) {
  const std::uint8_t* mask = work.mask == nullptr ? nullptr : work.mask + batch * work.seq;
  const RealKeys keys = real_keys(mask, work.seq);
  auto* bias = reinterpret_cast<float*>(scratch + work.scratch.bias);
  for (std::int64_t key = 0; keys.holes && key < round_up(work.seq, panel); ++key)
    bias[key] = key < work.seq && mask[key] != 0 ? 0 : -std::numeric_limits<float>::infinity();
  return keys;
}

/// The keys of a row's cache; how many each query is the last of goes to the scratch.
inline RealKeys load_lengths(const AttentionWork& work, std::int64_t batch, std::byte* scratch) {
  const std::uint8_t* mask = work.mask == nullptr ? nullptr : work.mask + batch * work.seq;
  auto* until = reinterpret_cast<std::int32_t*>(scratch + work.scratch.until);
  std::int32_t tokens = work.lengths[batch];
  for (std::int64_t query = 0; query < work.seq; ++query)
    until[query] = tokens += mask == nullptr || mask[query] != 0 ? 1 : 0;
  RealKeys keys;
  keys.first_token = cached_keys(work.attributes, until[0]).begin;
  keys.end = tokens - keys.first_token;
  keys.until = until;
  for (std::int64_t query = 0; query < work.seq; ++query) until[query] -= static_cast<std::int32_t>(keys.first_token);
  return keys;
}

/// What query `query` may see.
HWY_INLINE SeenKeys seen_by(const AttentionWork& work, const RealKeys& keys, std::int64_t query) {
  if (keys.until == nullptr) return seen_keys(work.attributes, query, work.seq);
  const CachedKeys seen = cached_keys(work.attributes, keys.until[query]);
  return {seen.begin, seen.end};
}

/// The keys that some of `rows` queries from `query` on may see.
HWY_INLINE RealKeys visible(const AttentionWork& work, const RealKeys& keys, std::int64_t query,
                            std::int64_t rows = 1) {
  RealKeys seen = keys;
  seen.begin = std::clamp(seen_by(work, keys, query).begin, keys.begin, keys.end);
  seen.end = std::clamp(seen_by(work, keys, query + rows - 1).end, seen.begin, keys.end);
  return seen;
}

/// One query's scores: key `key` stands at [at(key)], in vectors from `base` to `end`.
struct ScoreRow {
  float* scores;
  std::int64_t base;  ///< of the first panel
  std::int64_t end;   ///< of the last

  HWY_INLINE float* at(std::int64_t key) const {
    return scores + (key - base) / panel * (query_block * panel) + key % panel;
  }
};
HWY_INLINE ScoreRow score_row(float* scores, const RealKeys& keys) {
  return {scores, keys.begin / panel * panel, round_up(keys.end, panel)};
}

/// use(key, at) for each vector of the row, from key `key` on, which stands at `at`.
template <typename Use>
HWY_INLINE void for_scores(const ScoreRow& row, Use&& use) {
  float* scores = row.scores;
  for (std::int64_t first = row.base; first < row.end; first += panel, scores += query_block * panel) {
    for (std::int64_t i = 0; i < panel; i += lane_count()) use(first + i, scores + i);
  }
}

/// Scores s, which are unscaled, to cap tanh(scale s / cap) / scale, and its slope into `slopes`, key `base` first,
/// where it is given.
HWY_INLINE void cap_scores(const AttentionWork& work, const ScoreRow& row, float* slopes) {
  const auto share = static_cast<float>(work.attributes.scale / work.attributes.cap);
  for_scores(row, [&](std::int64_t key, float* at) HWY_ATTR {
    const V32 t = tanh(hn::Mul(hn::LoadU(f32_lanes, at), constant(share)));
    hn::StoreU(hn::Mul(t, constant(1 / share)), f32_lanes, at);
    if (slopes != nullptr) hn::StoreU(hn::NegMulAdd(t, t, constant(1.0F)), f32_lanes, slopes + (key - row.base));
  });
}

/// -infinity outside of what the query sees and where the bias says so. Returns the largest score.
HWY_INLINE float hide_keys(const ScoreRow& row, const RealKeys& seen, const float* bias) {
  constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
  for (std::int64_t key = row.base; key < std::min(seen.begin, row.end); ++key) *row.at(key) = minus_infinity;
  for (std::int64_t key = std::max(seen.end, row.base); key < row.end; ++key) *row.at(key) = minus_infinity;
  V32 most = hn::Set(f32_lanes, minus_infinity);
  for_scores(row, [&](std::int64_t key, float* at) HWY_ATTR {
    V32 score = hn::LoadU(f32_lanes, at);
    if (bias != nullptr) {
      score = hn::Add(score, hn::LoadU(f32_lanes, bias + key));
      hn::StoreU(score, f32_lanes, at);
    }
    most = hn::Max(most, score);
  });
  return max_of(most);
}

/// use(key, p) with p = e^(scale (s - largest)) of each vector of keys; zeros where `largest` is -infinity.
template <typename Use>
HWY_INLINE void exponentials(const AttentionWork& work, const ScoreRow& row, float largest, Use&& use) {
  const bool blind = largest == -std::numeric_limits<float>::infinity();
  const V32 most = hn::Set(f32_lanes, blind ? 0 : largest);
  const V32 factors = hn::Set(f32_lanes, static_cast<float>(work.attributes.scale) * coefficients::log2_e);
  // The difference first: the largest becomes 1 exactly, and a query that sees one key has no gradient but 0.
  for_scores(row, [&](std::int64_t key, const float* at)
                      HWY_ATTR { use(key, exp2(hn::Mul(hn::Sub(hn::LoadU(f32_lanes, at), most), factors))); });
}

/// A score of no key, unscaled as the others are here; `absent` where there is none.
struct Sink32 {
  static constexpr float absent = -std::numeric_limits<float>::infinity();
  float score = absent;

  HWY_INLINE float power(const AttentionWork& work, float largest) const {
    return score == absent ? 0 : std::exp(static_cast<float>(work.attributes.scale) * (score - largest));
  }
};
HWY_INLINE Sink32 sink_of_head(const AttentionWork& work, std::int64_t head) {
  if (work.sinks == nullptr) return {};
  return {work.sinks[head] / static_cast<float>(work.attributes.scale)};
}

/// 1 / sum, or 0 for a query that sees no key.
HWY_INLINE float share_of(float sum) {
  return sum == 0 ? 0 : 1.0F / sum;
}

/// e^(scale (s - max)) of one query in `row`, into `out` in the product's dtype; 0 outside of what it sees and where
/// the bias says so. Returns 1 / their sum, the sink's part included, or 0 where the query sees no key.
HWY_INLINE float softmax_row(const AttentionWork& work, const ScoreRow& row, const RealKeys& seen, const float* bias,
                             Sink32 sink, Sink out) {
  if (work.attributes.cap > 0) cap_scores(work, row, nullptr);
  const float largest = std::max(hide_keys(row, seen, bias), sink.score);
  V32 sums = hn::Zero(f32_lanes);
  if (out.dtype != DType::bf16) {
    exponentials(work, row, largest, [&](std::int64_t key, V32 p) HWY_ATTR {
      sums = hn::Add(sums, p);
      store(p, out, key - row.base);
    });
    return share_of(sum_of(sums) + sink.power(work, largest));
  }
  // A NaN among them makes the sum NaN, and with it the whole row: rounding need not keep it.
  exponentials(work, row, largest, [&](std::int64_t key, V32 p) HWY_ATTR {
    sums = hn::Add(sums, p);
    store_upper_halves(rounded_to_bf16(p), out.data + (key - row.base) * 2);
  });
  return share_of(sum_of(sums) + sink.power(work, largest));
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_KERNELS_CPU_ATTENTION_SOFTMAX_INL_H_
