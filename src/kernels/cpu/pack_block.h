#pragma once

#include <cstdint>

#include "kernels/cpu/micro/block.h"
#include "tensor/dtype.h"

namespace assay::cpu {

/// One factor of a matrix product as it lies in memory: its outer axis (rows of the result, or columns) by K.
struct Factor {
  enum class Order : std::uint8_t { k_contiguous, k_strided };
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  DType rounded = DType::f32;     ///< What its values are rounded to before anything else; its dtype: nothing.
  std::int64_t stride_bytes = 0;  ///< Between values of the outer axis, or of K where that one is strided.
  Order order = Order::k_contiguous;
};

/// `count` values of the outer axis from `first` on, by `k_count` values of K from `k` on.
struct Stretch {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t k = 0;
  std::int64_t k_count = 0;
};

/// Where a packed stretch goes, in the dtype that the inner loop multiplies: f32, or bf16 in pairs of K. A group of K
/// is one item of 4 bytes. What fills up the last group, and the last 4 groups, is zero.
struct Packed {
  std::byte* data = nullptr;
  DType operand = DType::f32;
  std::int64_t row_bytes = 0;               ///< Between rows, or between panels.
  std::int64_t width = micro::panel_width;  ///< Of panels; a multiple of 16, that at most.
  /// Rows that lie interleaved, item by item: 1, or micro::avx2_rows of f32. row_bytes is between so many.
  std::int64_t interleaved = 1;
};

/// The most groups of K that one stretch may have, and the most rows.
constexpr std::int64_t most_packed_groups = 1024;
constexpr std::int64_t most_packed_rows = 256;

/// Writes panels, row_bytes apart: groups of K one behind the other, `width` items each. Columns behind `count` are
/// zero up to the end of their panel.
using PackPanels = void (*)(const Factor& factor, const Stretch& stretch, const Packed& packed);
/// Writes rows of items, row_bytes apart. Room is needed for a multiple of 4 of both rows and groups, and of
/// `interleaved` rows.
using PackRows = void (*)(const Factor& factor, const Stretch& stretch, const Packed& packed);

/// For the instruction set that choose_vector_target has chosen.
PackPanels choose_pack_panels();
PackRows choose_pack_rows();

}  // namespace assay::cpu
