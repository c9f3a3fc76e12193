#pragma once

#include "kernels/linear.h"

namespace assay {

/// The same view of a `block_linear` call: inputs x (a float), blocks u8, bias or absent.
LinearCall block_linear_call(const Call& call);

/// Where block `block` of row `row` lies in a weight of blocks: its rows one behind the other, or in panels of blocks.
/// `row_bytes`: of the weight's shape.
inline std::int64_t block_offset(const BlockFormat& format, const Packing& packing, std::int64_t row_bytes,
                                 std::int64_t row, std::int64_t block) {
  if (packing.kind == Packing::Kind::plain) return row * row_bytes + block * format.bytes;
  return panel_offset(packing, row_bytes, row, block * format.bytes);
}

}  // namespace assay
