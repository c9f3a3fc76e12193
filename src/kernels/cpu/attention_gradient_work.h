#pragma once

#include "kernels/cpu/attention_work.h"

namespace assay::cpu {

/// Sums over the queries of one key head: transposed, f32 (panels of keys, round_up(head_dim, 4), 32 keys).
struct KeySums {
  std::int64_t offset = 0;  ///< in bytes, in a part's scratch
  float factor = 1;         ///< of the sums on their way out
  SinkRows to;              ///< (B, T, kv_heads * head_dim); null where nobody wants it
};

/// The work of attention's gradient. A unit of it is a key head with a slice of the queries of every head that shares
/// it: all of them, unless there are fewer key heads than threads. Each part has its own sums; those of slices are
/// added at the end.
struct GradientWork {
  AttentionWork scores;            ///< s = q k^T and dq = ds k; its values are k, its y is dq
  AttentionWork products;          ///< dp = dy v^T; its q is dy, its k is v
  KeySums dk;                      ///< ds^T q
  KeySums dv;                      ///< p^T dy
  std::int64_t transposed = 0;     ///< offset: (head_dim, query_block) of a block of queries
  std::int64_t pairs = 0;          ///< offset: rows in pairs, of queries and of a panel of scores
  std::int64_t scratch_bytes = 0;  ///< of a part
  std::int64_t slices = 1;

  std::int64_t key_heads() const { return scores.batch * scores.attributes.kv_heads; }
  std::int64_t units() const { return key_heads() * slices; }
  std::int64_t padded_dims() const { return round_up(scores.attributes.head_dim, 4); }
  std::int64_t sums_bytes() const { return round_up(scores.seq, panel) * padded_dims() * 4; }
  /// Vector steps of a key head with `matmuls` products.
  std::int64_t steps(std::int64_t matmuls) const {
    return scores.steps(matmuls) * scores.blocks() * scores.group_heads();
  }
};

/// Of a call whose second input is (B, T, heads * head_dim), without its memory; `matmuls` are made of each head.
GradientWork gradient_work(const Call& call, const AttentionProduct& product, std::int64_t matmuls);

}  // namespace assay::cpu
