#pragma once

#include <cstddef>
#include <span>

#include "kernels/packing.h"

namespace assay {

/// Packs the weight (out, in) whose rows are those of `parts`, plain matrices (.., in), one below the other; `packed`
/// holds packed_bytes. Floats of another dtype than packing.dtype are rounded to it on the way; what is in blocks is
/// one part. Uses all threads.
void pack_parts(std::span<const TensorView> parts, const Packing& packing, std::byte* packed);

}  // namespace assay
