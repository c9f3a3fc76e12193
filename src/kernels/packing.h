#pragma once

#include <cstdint>
#include <string>

#include "tensor/block_format.h"
#include "tensor/tensor.h"

namespace assay {

/// How a constant lies in memory. `plain` is dense row-major. `panels` is the one packed layout of the CPU kernels for
/// weights W (out, in), chosen so that dot-product instructions and tile loads both read it front to back:
///
///   panel p holds outputs [p * width, (p + 1) * width), the last one padded with zeros;
///   inside: for each group g of `group` inputs (the last padded with zeros), for each output n of the panel, the
///   group's values W[p * width + n][g * group .. g * group + group).
///
/// So element (n, k) lies at ((n / width) * groups + k / group) * width * group + (n % width) * group + k % group,
/// groups = ceil(in / group). group is 4 bytes worth of the dtype: 1 for f32, 2 for bf16 (dot-product and AMX pairs), 4
/// for s8; f16 may use 1 (widened or FP16 vectors).
/// Rows of blocks (tensor/block_format.h) are u8 whose group is a block: 32 rows' first blocks, then their second ones,
/// each 32 as a stripe (kernels/stripes.h) of 32 * group bytes.
/// s8 panels are followed by s32 sums over k of each (padded) output, which unsigned-by-signed products need to correct
/// for the offset of 128.
struct Packing {
  enum class Kind : std::uint8_t { plain, panels } kind = Kind::plain;
  DType dtype = DType::f32;  ///< Of the packed values; equals the constant's dtype.
  std::int32_t width = 0;
  std::int32_t group = 0;
  const BlockFormat* blocks = nullptr;  ///< What rows are of, where they are of blocks.

  friend bool operator==(const Packing&, const Packing&) = default;
};
/// "plain", "panels of 32, groups of 2".
std::string to_string(const Packing& packing);

/// Bytes of a (out, in) weight in that packing.
std::size_t packed_bytes(const Packing& packing, std::int64_t out, std::int64_t in);
/// Offset in elements of (n, k) in panels.
inline std::int64_t panel_offset(const Packing& packing, std::int64_t in, std::int64_t n, std::int64_t k) {
  const std::int64_t groups = (in + packing.group - 1) / packing.group;
  return ((n / packing.width) * groups + k / packing.group) * packing.width * packing.group +
         (n % packing.width) * packing.group + k % packing.group;
}
/// Offset in bytes of the s32 column sums behind s8 panels.
std::size_t column_sums_offset(const Packing& packing, std::int64_t out, std::int64_t in);
/// Offset in bytes of the stripe that has block `block` of row `n`; rows have row_bytes when they are plain.
std::int64_t stripe_offset(const Packing& packing, std::int64_t row_bytes, std::int64_t n, std::int64_t block);
/// A weight in blocks wherever it lies: plain, or in such panels.
struct BlockRows {
  const BlockFormat& format;
  const Packing& packing;
  const std::byte* data;
  std::int64_t row_bytes;  ///< Of a plain row.

  void decode(std::int64_t row, std::int64_t block, GroupedCodes& out) const;
};
/// Packs a plain (out, in) weight of packing.dtype; `packed` holds packed_bytes. Uses all threads.
void pack(const TensorView& weight, const Packing& packing, std::byte* packed);

}  // namespace assay
