#pragma once

#include "kernels/cpu/matmul.h"
#include "kernels/cpu/pack_block.h"
#include "kernels/cpu/rows.h"

namespace assay::cpu {

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
  SourceRows onto;
  SinkRows y;
  int threads = 1;
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
};

/// A kernel that runs that code for the product. Each thread packs a stretch of b that stays in its second cache (Goto
/// & van de Geijn 2008), and then some rows of a at a time, which pass by it. The workspace is about a megabyte a
/// thread, whatever the shapes. `memory` says which tensor is which. Throws nothing.
Prepared prepare_product(const Product& product, const MachineFacts& facts, const MatmulCode& code,
                         ProductMemory (*memory)(const Memory& memory));

}  // namespace assay::cpu
