#pragma once

#include "kernels/cuda/formulas.h"

/// What the kernels of attention and of its gradient share. q, y: (B, T, H*D), k, v: (B, T, K*D); K divides H.
namespace assay::ASSAY_CUDA_NAMESPACE {

/// Positions [begin, end) of a sequence.
struct Positions {
  std::int64_t begin, end;
};

struct Heads {
  std::int64_t batches, seq, heads, kv_heads, head_dim;
  float scale;
  float cap;  ///< Of scores; 0: none.
  bool causal;
  std::int64_t window;  ///< As seen_keys has it.
  DType math;           ///< Of the softmax; 16 bits: every step is rounded to it, and sums are taken one by one.

  ON_DEVICE std::int64_t query_column(std::int64_t head) const { return head * head_dim; }
  ON_DEVICE std::int64_t key_column(std::int64_t head) const { return head / (heads / kv_heads) * head_dim; }
  /// The keys that a query may see, padding aside: as seen_keys has it.
  ON_DEVICE Positions keys_of(std::int64_t query) const {
    return within(query - reach() + 1, causal ? query + 1 : query + reach());
  }
  /// The queries that may see a key.
  ON_DEVICE Positions queries_of(std::int64_t key) const {
    return within(causal ? key : key - reach() + 1, key + reach());
  }
  /// A scaled score as softmax takes it.
  ON_DEVICE float capped(float score) const { return soft_capped(score, cap); }
  ON_DEVICE float round(float value) const { return rounded(math, value); }

 private:
  ON_DEVICE std::int64_t reach() const { return window > 0 && window < seq ? window : seq; }
  ON_DEVICE Positions within(std::int64_t begin, std::int64_t end) const {
    return {begin > 0 ? begin : 0, end < seq ? end : seq};
  }
};

inline Heads heads_of(const Call& call, std::int64_t batches, std::int64_t seq) {
  const Attributes& a = call.attributes;
  return {batches,  seq,      a.heads, a.kv_heads, a.head_dim, static_cast<float>(a.scale), static_cast<float>(a.cap),
          a.causal, a.window, a.math};
}

/// Which keys a query sees.
struct Visible {
  In mask;
  Heads h;

  ON_DEVICE bool operator()(std::int64_t batch, std::int64_t query, std::int64_t key) const {
    const Positions keys = h.keys_of(query);
    return keys.begin <= key && key < keys.end && (!mask.present() || mask(batch * h.seq + key) != 0);
  }
};

/// The dot product of `count` columns of two rows.
ON_DEVICE inline float dot(const In& a, std::int64_t a_row, std::int64_t a_column, const In& b, std::int64_t b_row,
                           std::int64_t b_column, std::int64_t count) {
  float sum = 0;
  for (std::int64_t i = 0; i < count; i += pack_width) {
    const Pack x = a.pack(a_row, a_column + i, a_column + count);
    const Pack y = b.pack(b_row, b_column + i, b_column + count);
    for (int j = 0; j < pack_width; ++j) sum += x.value[j] * y.value[j];
  }
  return sum;
}

/// What turns a row of scores into probabilities.
struct RowSoftmax {
  float largest = 0;
  float sum = 0;  ///< 0: the query sees nothing

  ON_DEVICE float weight(const Heads& h, float score) const { return h.round(expf(h.round(h.round(score) - largest))); }
  ON_DEVICE float probability(const Heads& h, float score) const {
    return sum == 0 ? 0 : h.round(weight(h, score) / sum);
  }
};

/// Of score(key) over those of `keys` that sees(key) allows.
template <typename Score, typename Sees>
ON_DEVICE RowSoftmax row_softmax(const Heads& h, const Team& team, Positions keys, Score score, Sees sees) {
  float largest = -INFINITY;
  for (std::int64_t key = keys.begin + team.rank; key < keys.end; key += team.size) {
    if (sees(key)) largest = fmaxf(largest, score(key));
  }
  RowSoftmax row{h.round(team.max(largest)), 0};
  if (is_16bit(h.math)) {  // The order decides the result: every thread adds all of them.
    for (std::int64_t key = keys.begin; key < keys.end; ++key) {
      if (sees(key)) row.sum = h.round(row.sum + row.weight(h, score(key)));
    }
    return row;
  }
  for (std::int64_t key = keys.begin + team.rank; key < keys.end; key += team.size) {
    if (sees(key)) row.sum += row.weight(h, score(key));
  }
  row.sum = team.sum(row.sum);
  return row;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
