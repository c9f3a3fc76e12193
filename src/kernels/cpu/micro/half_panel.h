#pragma once

#include <cstdint>

#include "kernels/cpu/micro/block.h"

// Included behind ASSAY_TARGET by each kernel of AVX2's 16 registers: the loop over K that they share.
namespace assay::cpu::micro {
namespace {

constexpr std::int64_t half_vector_bytes = 32;
constexpr std::int64_t half_group_bytes = panel_width * 4;
constexpr int half_groups_together = 4;

/// `rows` x 16 sums, one half of a panel: 12 accumulators at most. Arithmetic says what is multiplied: Vector; zero,
/// load and store of 8 sums; load_weights; broadcast of one group of a row; multiply_add.
///
/// Four groups a turn, and rows addressed from one pointer for each three: with a pointer a row GCC 12 adds up
/// addresses in every group, and so much stands in the queue that a panel in the second cache is waited for (1.2x on
/// Zen 3).
template <typename Arithmetic, int rows>
inline void multiply_half_panel(const Block& block, std::int64_t offset) {
  using Vector = typename Arithmetic::Vector;
  Vector sums[rows][2];
#pragma GCC unroll 6
  for (int row = 0; row < rows; ++row) {
    const std::byte* const c = block.c + row * half_group_bytes + offset;
    sums[row][0] = block.sums == Sums::start ? Arithmetic::zero() : Arithmetic::load(c);
    sums[row][1] = block.sums == Sums::start ? Arithmetic::zero() : Arithmetic::load(c + half_vector_bytes);
  }
  const std::int64_t stride = block.a_stride;
  const std::byte* a0 = block.a;
  const std::byte* a3 = a0 + 3 * stride;
  const std::byte* panel = block.panel + offset;
  const auto multiply_groups = [&]<int count>() __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int group = 0; group < count; ++group) {
      const auto left = Arithmetic::load_weights(panel + group * half_group_bytes);
      const auto right = Arithmetic::load_weights(panel + group * half_group_bytes + half_vector_bytes);
#pragma GCC unroll 6
      for (int row = 0; row < rows; ++row) {
        const auto value = Arithmetic::broadcast((row < 3 ? a0 : a3) + (row % 3) * stride + group * 4);
        sums[row][0] = Arithmetic::multiply_add(sums[row][0], value, left);
        sums[row][1] = Arithmetic::multiply_add(sums[row][1], value, right);
      }
    }
    panel += count * half_group_bytes;
    a0 += count * 4;
    a3 += count * 4;
    asm("" : "+r"(a0), "+r"(a3));  // Keeps each in a register.
  };
  for (std::int64_t turn = block.groups / half_groups_together; turn > 0; --turn)
    multiply_groups.template operator()<half_groups_together>();
  for (std::int64_t left = block.groups % half_groups_together; left > 0; --left)
    multiply_groups.template operator()<1>();
#pragma GCC unroll 6
  for (int row = 0; row < rows; ++row) {
    std::byte* const c = block.c + row * half_group_bytes + offset;
    Arithmetic::store(c, sums[row][0]);
    Arithmetic::store(c + half_vector_bytes, sums[row][1]);
  }
}

template <typename Arithmetic, int rows>
void multiply_halves_up_to(const Block& block, int count) {
  if constexpr (rows > 1) {
    if (count < rows) return multiply_halves_up_to<Arithmetic, rows - 1>(block, count);
  }
  multiply_half_panel<Arithmetic, rows>(block, 0);
  multiply_half_panel<Arithmetic, rows>(block, half_group_bytes / 2);
}

}  // namespace
}  // namespace assay::cpu::micro
