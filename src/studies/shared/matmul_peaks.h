#pragma once

#include <string>
#include <vector>

#include "hardware/facts.h"

namespace assay {

/// y = x W^T with x (rows, in), W (out, in); rows are those of one thread. Large enough that tails do not count, and a
/// run still takes only some milliseconds, so that on a busy machine most runs pass undisturbed.
struct MatmulShape {
  std::int64_t rows = 128;
  std::int64_t in = 1024;
  std::int64_t out = 512;

  double flops() const { return 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out); }
};

struct MatmulRates {
  std::vector<MatmulRate> rates;
  std::vector<MatmulRate> row_rates;  ///< Of one row.
  double processor_share = 0;         ///< Processor time that was had over what was asked for: 1 on an idle machine.
};

/// Times every implementation of `linear` (f32, f16, bf16) and of `quantized_linear` (s8 by s8) that the cpu backend
/// offers under facts.isa, weights packed as each wants them: also those that prefer to step back for a faster one, by
/// asking once more without the dtype's instructions.
///
/// Each thread multiplies its own rows with the same weights, as concurrent_rate says: no thread waits for another,
/// which on a busy machine would measure the waiting. All take turns, round by round, `seconds_each` for each of them;
/// the upper quartile of a kernel's rounds counts. A kernel that would need more than 50 ms a run
/// (plain loops) keeps the rate of a small shape.
///
/// Each takes a second turn with copies of the weights, one after the other, that the second cache cannot hold, as the
/// weights of a model's layers are not in it when their turn comes.
///
/// Then all of it once more with one row, a quarter as long.
MatmulRates measure_matmuls(const MachineFacts& facts, const MatmulShape& shape, double seconds_each);

}  // namespace assay
