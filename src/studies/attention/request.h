#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/document.h"
#include "studies/shared/shard.h"
#include "studies/shared/surroundings.h"

namespace assay {

struct AttentionRequest {
  std::int64_t batch = 8;
  std::int64_t heads = 1;
  std::vector<std::int64_t> head_dims = {16, 32, 64, 128};
  std::vector<std::int64_t> seqs = {256, 1024, 4096, 8192, 16384};
  std::vector<std::string> precisions = {"fp32"};
  bool causal = false;
  int repetitions = 100;  ///< Steps that are sampled, where the budget suffices.
  double seconds = 5;     ///< Budget a cell (one method in one precision at one shape).
  std::uint64_t seed = 1;
  std::string device = "cpu";
  GridDivision division;  ///< Among processes and machines, of precisions, head sizes and lengths.
};

/// Measures attention alone: a cell for each method, precision, head_dim and length, the two methods of a shape
/// interleaved. What would not fit, or take longer than the budget, is a row that says so. After an interrupt: what was
/// measured so far. Throws user errors for shapes and precisions that cannot be.
Document attention(const AttentionRequest& request, const FactsSource& facts, const StudyCallbacks& callbacks);

}  // namespace assay
