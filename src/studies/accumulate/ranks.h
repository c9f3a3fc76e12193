#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hardware/facts.h"
#include "model/model.h"
#include "results/document.h"
#include "tensor/dtype.h"

namespace assay {

/// In which order the gradients of many ranks are added. On the wire every value has the wire's dtype, the ranks' own
/// gradients too; each addition is made in the sum's dtype.
enum class RankSum : std::uint8_t {
  ring,   ///< A share's partial sum goes from rank to rank, on the wire each time (reduce-scatter of Patarasuk & Yuan
          ///< 2009, as NCCL's rings).
  tree,   ///< Pairs of ranks, pairs of pairs, ...: a partial sum is on the wire once a level (recursive doubling).
  direct  ///< Every rank's share to its owner, who adds in rank order; the sum is on the wire once, to all.
};
const char* name(RankSum algorithm);

struct AccumulateRanksRequest {
  std::vector<std::int64_t> ranks;  ///< 2 to 4,096 each.
  std::vector<RankSum> algorithms = {RankSum::ring, RankSum::tree, RankSum::direct};
  std::vector<DType> wires = {DType::bf16};
  std::vector<DType> sums = {DType::f32};
  std::string model;              ///< Empty: a small GPT of bytes with fresh weights.
  std::int64_t seq = 64;          ///< Tokens of the one row that a rank's gradient comes from.
  std::int64_t elements = 16384;  ///< Of the gradient, drawn once; every rank's are the same ones.
  std::uint64_t seed = 0;
  ModelOptions model_options;
};

/// What one way of adding loses.
struct RankSumError {
  std::int64_t ranks = 0;
  RankSum algorithm = RankSum::direct;
  DType wire = DType::bf16;
  DType sum = DType::f32;
  double relative = 0;       ///< |sum - exact| / |exact|, Euclidean over the elements; exact: in f64, of f32 gradients.
                             ///< Infinite where a sum is; NaN where all gradients are 0.
  double wire_relative = 0;  ///< The same of the exact sum of what the wire's dtype makes of the gradients, rounded
                             ///< once to it: no way of adding goes below it but by luck.
  double lost = 0;           ///< Share of additions of a value that is not 0 that left the sum as it was.
  std::int64_t not_finite = 0;  ///< Elements.
};

/// The gradients of so many ranks: ranks x elements, f32, one rank behind the other.
struct RankGradients {
  std::int64_t ranks = 0;
  std::int64_t elements = 0;
  std::vector<float> values;
  std::span<const float> of(std::int64_t rank) const {
    return std::span(values).subspan(static_cast<std::size_t>(rank * elements), static_cast<std::size_t>(elements));
  }
};

/// The first `ranks` of them, added so. Pure: no model, no clock.
RankSumError rank_sum_error(const RankGradients& gradients, std::int64_t ranks, RankSum algorithm, DType wire,
                            DType sum);

/// Gradients of real rows of the bundled text, a rank each, and every way of adding them at every number of ranks.
/// Throws a user error where the request is out of range.
Document accumulate_ranks(const AccumulateRanksRequest& request, const MachineFacts& facts,
                          const std::function<void(const std::string& what, double share)>& progress);

}  // namespace assay
