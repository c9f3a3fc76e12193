#pragma once

#include <cstdint>

namespace assay::cpu {

/// Keys whose scores stand together before their values are read: so few that both stay in the first level cache.
constexpr std::int64_t block_tokens = 64;

/// What a stretch of tokens has given for one query of one head, in f32: the largest score, the sum of e^(score -
/// largest), and the values weighted by those; `context` is padded to whole vectors.
struct PartialShape {
  static constexpr std::int64_t largest = 0;
  static constexpr std::int64_t sum = 1;
  static constexpr std::int64_t context = 16;  ///< On a line of its own.

  std::int64_t head_dim = 0;
  std::int64_t padded_dim = 0;

  explicit PartialShape(std::int64_t dim) : head_dim(dim), padded_dim((dim + 15) / 16 * 16) {}
  std::int64_t floats() const { return context + padded_dim; }
};

/// Stretches that the tokens of a row are divided into: so many that threads can share them evenly.
constexpr std::int64_t stretches(std::int64_t batch, std::int64_t threads) {
  return batch == 0 ? 1 : (2 * threads + batch - 1) / batch;
}

}  // namespace assay::cpu
