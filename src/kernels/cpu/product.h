#pragma once

#include <optional>

#include "kernels/cpu/matmul.h"
#include "kernels/cpu/pack_block.h"
#include "kernels/cpu/rows.h"

namespace assay::cpu {

/// A weight W (out, in) as forward products hold it, in panels, read as the factor b of dx = dy W: K are its outputs.
struct HeldWeight {
  Packing packing;
  std::int64_t in = 0;
  const BlockFormat* blocks = nullptr;  ///< Where panels are of blocks.
  micro::Widen widen = nullptr;         ///< From the panels to f32's; null: they are, or are of blocks.
  micro::WidenBlocks widen_blocks = nullptr;

  static constexpr std::int64_t most_columns = 256;  ///< Widened at a time: whole blocks of every format.
  static constexpr std::int64_t scratch_bytes = most_columns * sum_row_bytes;
  /// Values of a stretch (first, count: inputs), times `scales` of each output where there are any: f32, a row for each
  /// value of K. `scratch`: scratch_bytes.
  void read(const std::byte* data, const float* scales, const Stretch& stretch, std::byte* scratch, float* out) const;
};

/// A matrix product whose factors change between runs, so that nothing is packed beforehand:
///
///   y = a b + bias + onto    a: (rows, depth), b: (depth, columns), bias: (columns), onto, y: (rows, columns)
///
/// Factors stand here without their memory.
struct Product {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  Factor a;
  Factor b;
  DType bias = DType::f32;
  std::optional<HeldWeight> held = std::nullopt;  ///< What b is instead.
  SourceRows onto;
  SinkRows y;
  int threads = 1;
  /// y is read when much else has been: where it is large, it is kept out of the caches. Of products without bias and
  /// onto.
  bool read_late = false;
  std::int64_t Product::*counted = nullptr;  ///< The member that Memory::rows replaces; null: none.
};

/// The tensors of a product at run time; bias and onto may be null, onto may be y.
struct ProductMemory {
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  const std::byte* bias = nullptr;
  const std::byte* onto = nullptr;
  std::byte* y = nullptr;
  std::byte* workspace = nullptr;
  const float* scales = nullptr;  ///< Of a held weight's outputs; may be null.
};

/// A kernel that runs that code for the product. Each thread packs a stretch of b that stays in its second cache (Goto
/// & van de Geijn 2008). Rows of a pass by it, a few at a time, packed where they do not lie as the loop reads them.
/// The workspace is one or two megabytes a thread, whatever the shapes. `memory` says which tensor is which. Throws
/// nothing.
Prepared prepare_product(const Product& product, const MachineFacts& facts, const MatmulCode& code,
                         ProductMemory (*memory)(const Memory& memory));

}  // namespace assay::cpu
