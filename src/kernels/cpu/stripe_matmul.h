#pragma once

#include "kernels/cpu/micro/stripes.h"
#include "kernels/linear.h"

namespace assay::cpu {

/// A way to multiply rows of x by panels of stripes without widening them first.
struct StripeCode {
  const char* description;
  DType operand;      ///< What it multiplies.
  DType accumulator;  ///< What a stretch's products are added in; stretches add up in f32.
  micro::StripeRows rows;
  micro::MultiplyStripes multiply;
  int block_rows;             ///< The most rows a call of `multiply` takes.
  bool reads_blocks = false;  ///< It takes small codes' blocks as they are (micro::zero_of_small_codes).
};

/// A kernel that runs that code for the call, panel by panel, taken in turn by the threads. Integers take any format:
/// what is neither re-laid nor read as it is, is decoded to codes of 8 bits, a panel at a time. Declines a weight that
/// is not packed so.
Offer prepare_stripes(const LinearCall& call, const MachineFacts& facts, const StripeCode& code);

}  // namespace assay::cpu
