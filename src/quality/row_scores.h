#pragma once

#include <cstdint>
#include <span>

namespace assay {

// Sums over one row of logits, in f64 from f32, by vectors. An exponential is off by at most 2e-14 of itself, so
// log_sum by 2e-14 and a divergence of 1e-12 nats still has its first digit.

/// What softmax needs to know of a row.
struct RowScore {
  double log_sum = 0;     ///< log(sum(exp(logits))); NaN where a logit is NaN or +infinity.
  std::int64_t best = 0;  ///< The first largest logit.
  bool finite = true;     ///< Whether every logit is; what stands above means nothing where one is not.
};
RowScore score_row(std::span<const float> logits);

/// How far the distribution of `q` is from that of `p`, two rows of one length.
struct Divergence {
  double kl = 0;                  ///< KL(p || q) = sum p (log p - log q), nats; never below 0.
  double largest_difference = 0;  ///< Of two logits.
  double largest_logit = 0;       ///< Largest magnitude in p.
};
struct ScoredRow {
  std::span<const float> logits;
  RowScore score;
};
Divergence diverge_row(const ScoredRow& p, const ScoredRow& q);

/// FNV-1a (Fowler, Noll & Vo) over the row's bits, in eight interleaved streams, each word 64 bits wide.
std::uint64_t hash_row(std::span<const float> logits);

constexpr std::uint64_t hash_start = 0xcbf29ce484222325U;
/// One step of FNV-1a.
constexpr std::uint64_t hash_step(std::uint64_t hash, std::uint64_t word) {
  return (hash ^ word) * 0x100000001b3U;
}

}  // namespace assay
