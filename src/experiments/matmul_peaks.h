#pragma once

#include <string>
#include <vector>

#include "hardware/facts.h"

namespace assay {

/// y = x W^T with x (rows, in), W (out, in).
struct MatmulShape {
  std::int64_t rows = 512;
  std::int64_t in = 1024;
  std::int64_t out = 1024;

  double flops() const { return 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out); }
};

/// The shape at which matmul peaks are measured: 256 rows a thread. Large enough that tails and thread starts do not
/// count, and a run still takes only some milliseconds, so that on a busy machine some runs pass undisturbed.
MatmulShape peak_shape(int threads);

/// How fast one kernel of the cpu backend multiplied here.
struct MatmulRate {
  DType operand = DType::f32;   ///< Of x and W as they are stored.
  DType computed = DType::f32;  ///< What its instruction multiplies.
  std::string kernel;
  double gflops = 0;  ///< Its best run; all threads of the facts.
};

struct MatmulRates {
  std::vector<MatmulRate> rates;
  double processor_share = 0;  ///< Processor time that was had over what was asked for: 1 on an idle machine.
};

/// Times every implementation of `linear` (f32, f16, bf16) and of `quantized_linear` (s8 by s8) that the cpu backend
/// offers under facts.isa, weights packed as each wants them: also those that prefer to step back for a faster one, by
/// asking once more without the dtype's instructions. All take turns, round by round, `seconds_each` for each of them,
/// so that a busy spell of the machine hits them alike; the best run counts. A kernel that would need more than a
/// quarter of a second a run (plain loops) keeps the rate of a small shape.
MatmulRates measure_matmuls(const MachineFacts& facts, const MatmulShape& shape, double seconds_each);

}  // namespace assay
