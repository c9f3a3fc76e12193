#pragma once

#include "kernels/linear.h"

namespace assay {

/// The same view of a `block_linear` call: inputs x (a float), blocks u8, bias or absent.
LinearCall block_linear_call(const Call& call);

/// That of a `quantized_block_linear` call: inputs x (s8), x_scale, blocks u8, bias or absent.
LinearCall quantized_block_linear_call(const Call& call);

}  // namespace assay
