#pragma once

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/micro/block.h"
#include "kernels/linear.h"

namespace assay::cpu {

/// Of a row of a panel of sums, f32 or s32.
constexpr std::int64_t sum_row_bytes = micro::panel_width * 4;

/// What widens panels of blocks for a loop, in the instruction set that the loop needs.
struct BlockWidening {
  micro::WidenBlocks of_blocks = nullptr;   ///< That lie as they are; null: the loop takes none.
  micro::WidenBlocks of_stripes = nullptr;  ///< That are re-laid (stripe_layout).
};

/// A way to multiply that is ours: what the inner loop reads, and how the stored weight becomes that.
struct MatmulCode {
  const char* description;
  DType operand;      ///< Dtype of rows and panels as the loop multiplies them; u8: s8 + 128, undone by column sums
  DType sums;         ///< f32 or s32, as they are stored between chunks
  DType accumulator;  ///< What the loop adds in: as sums, or f16, flushed to f32 after each chunk of the call
  int group;          ///< Values of K that one group of the loop's panels holds
  micro::Multiply multiply;
  int block_rows;                             ///< The most rows a call of `multiply` takes
  std::int64_t chunk;                         ///< Values of K between two stores of the sums; a multiple of both groups
  Packing packing;                            ///< Of the weight as stored
  micro::Widen widen;                         ///< From the stored panels to the operand's; null: they are the same
  const BlockFormat* blocks = nullptr;        ///< Where the stored panels are of blocks
  micro::WidenBlocks widen_blocks = nullptr;  ///< In the place of `widen` then, by codes::from_blocks
  BlockWidening block_widening = {};          ///< What that takes it from
  std::int64_t lies_in = 0;                   ///< Bytes of a value of `operand` as the loop reads it; 0: its own
  /// Outputs of a panel as products make them that pack as they run. Half as many: panels' halves lie apart, and rows
  /// interleaved (micro::multiply_f32_strip_avx2).
  std::int64_t packed_width = micro::panel_width;

  std::int64_t operand_bytes() const { return lies_in > 0 ? lies_in : static_cast<std::int64_t>(size_of(operand)); }
  bool widens() const { return widen != nullptr || widen_blocks != nullptr; }
};

/// Packing of a stored weight for all of these: panels of 32, groups of 4 bytes (f16: of one value).
Packing panels_of(DType dtype);

/// That of rows of blocks.
Packing panels_of(const BlockFormat& format);

/// What code the call cannot be packed for, or added in, in words; null where it can.
const char* unfit(const LinearCall& call, const MatmulCode& code);

/// From the sums of the call's row `row` and output `n` on.
Epilogue epilogue_at(const LinearCall& call, const MatmulCode& code, const LinearMemory& tensors, std::int64_t row,
                     std::int64_t n);

/// Writes `x` (call.in values) as the code reads it: in its operand's dtype and bytes, filled up with zeros to whole
/// groups.
void copy_row(const LinearCall& call, const MatmulCode& code, const std::byte* x, std::byte* row);

/// What a kernel of that code says of itself.
Prepared prepared_matmul(const LinearCall& call, const MatmulCode& code);

/// Why panels in that packing cannot be what the call's weight is, or its output and bias are not what all such kernels
/// take; null where all fits.
const char* unfit_for_panels(const LinearCall& call, const Packing& packing);

/// A kernel that runs that code for the call, blocked for the caches and divided among the threads by tasks of one
/// panel and some rows, taken in turn: a thread whose core others use takes fewer. Declines a weight that is not packed
/// so.
Offer prepare_matmul(const LinearCall& call, const MachineFacts& facts, const MatmulCode& code);

}  // namespace assay::cpu
