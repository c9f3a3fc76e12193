#include "kernels/cpu/attention_gradient_work.h"

#include <utility>

namespace assay::cpu {
namespace {

/// As many slices of a key head as there are threads for it, each worth a thread.
std::int64_t slices_of(const GradientWork& work, std::int64_t matmuls, int threads) {
  if (work.key_heads() == 0) return 1;
  const std::int64_t most = std::min(work.scores.blocks(), work.steps(matmuls) / elements_worth_a_thread);
  return std::max<std::int64_t>(1, std::min(threads / work.key_heads(), most));
}

}  // namespace

GradientWork gradient_work(const Call& call, const AttentionProduct& product, std::int64_t matmuls) {
  GradientWork work;
  work.scores = attention_work(call, product);
  work.products = work.scores;
  std::int64_t next = work.scores.scratch.bytes;
  const auto take = [&next](std::int64_t bytes) { return std::exchange(next, next + round_up(bytes, 64)); };
  const AttentionScratch& one = work.scores.scratch;
  AttentionScratch& other = work.products.scratch;
  other.keys = take(one.values - one.keys);
  other.rows = take(one.scores - one.rows);
  other.scores = take(one.probabilities - one.scores);
  const std::int64_t dims = round_up(call.attributes.head_dim, panel);
  work.transposed = take(dims * query_block * 4);
  work.pairs = take(std::max(dims, panel) * query_block * 4);
  work.dk.offset = take(work.sums_bytes());
  work.dv.offset = take(work.sums_bytes());
  work.scratch_bytes = next;
  work.slices = slices_of(work, matmuls, call.threads);
  return work;
}

}  // namespace assay::cpu
