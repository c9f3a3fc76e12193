#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/block_format.h"

namespace assay {

/// How the scale of a group is chosen. `maximum` is what formats are usually made with: the largest magnitude has the
/// outermost code. `least_error` tries scales around that one, each fitted to the codes that it gives (d = sum x q /
/// sum q q), and keeps the one that leaves the least sum of squared errors; that of `maximum` is among them.
enum class ScaleChoice : std::uint8_t { least_error, maximum };

/// Writes blocks of a format that can be made for a row of `count` values; zeros fill up the last block. Scales are
/// rounded to the format's before codes are. A group with a value that is not finite gets the scale NaN, as
/// kernels/quantize.h has it; one of zeros alone, or of values below what a scale can say, gets codes of zero. Blocks
/// of several groups are made for the least error, whatever `choice` says.
void make_blocks(const BlockFormat& format, const float* values, std::int64_t count, std::byte* blocks,
                 ScaleChoice choice = ScaleChoice::least_error);

}  // namespace assay
