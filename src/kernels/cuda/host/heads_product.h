#pragma once

#include "kernels/cuda/host/cublaslt.h"

/// Products of all heads of attention, in batches: heads of one (row, group) at a time, since query heads that share a
/// key head read the same keys. Scores (T, T) of query head h lie at (b * heads + h) * T * T.
namespace assay::ASSAY_CUDA_NAMESPACE {

/// A matrix of every head: rows of B * T tokens, `stride` elements apart, head_dim columns a head.
struct Tokens {
  DType dtype = DType::f32;
  std::int64_t stride = 0;
};

struct Geometry {
  std::int64_t batches, seq, heads, kv_heads, head_dim;

  std::int64_t group() const { return heads / kv_heads; }
};

/// What differs from one launch to the next, in bytes.
struct Steps {
  std::int64_t batch = 0;
  std::int64_t group = 0;
};

/// By the call's attributes.
Geometry geometry_of(const Call& call, std::int64_t batches, std::int64_t seq);
Tokens tokens(const Argument& argument);

/// One product for every row of the batch and every query head of a group.
struct HeadsProduct {
  Geometry g{};
  std::shared_ptr<const Product> first;
  std::shared_ptr<const Product> more;  ///< Adds to what the group's first one wrote; null: each writes its own.
  Steps a, b, c;

  /// a, b, c: of the first of `batches` rows.
  void run(const ProductMemory& memory, std::int64_t batches) const;
  std::size_t workspace_bytes() const;
};

using Made = std::variant<HeadsProduct, Declined>;

/// scores = scale q k^T
Made make_scores(const Geometry& g, const Tokens& q, const Tokens& k, DType to, double scale);
/// y = scale p v
Made make_context(const Geometry& g, DType p, const Tokens& v, const Tokens& y, double scale);
/// z = scale p^T y, summed over the query heads of a key head
Made make_transposed(const Geometry& g, DType p, const Tokens& y, const Tokens& z, double scale);

/// What `prepare` answers around them, but for the kernel.
Prepared offer_heads(const HeadsProduct& heads);
/// Why the library is not asked for such a call; null: it is.
const char* fault_of(const Call& call, const Geometry& g);

}  // namespace assay::ASSAY_CUDA_NAMESPACE
