#pragma once

#include "kernels/linear.h"

namespace assay::cpu {

/// A oneDNN matmul for the call, with bias and activation in its epilogue; operands in the stored dtype. `packing` is
/// how the weight will be handed over: plain, or onednn_panels. Declines where the library has only its plain loops for
/// the call, or would use instructions that the facts forbid.
Offer prepare_onednn(const LinearCall& call, const MachineFacts& facts, const Packing& packing);

/// Panels that oneDNN can read in place for weights of that dtype and input width; plain where there are none.
Packing onednn_panels(DType dtype, std::int64_t in);

}  // namespace assay::cpu
