#pragma once

#include <cstdint>

#include "kernels/cpu/micro/block.h"

// Included behind ASSAY_TARGET by each kernel of AVX2's 16 registers: the loop over K that they share.
namespace assay::cpu::micro {
namespace {

constexpr std::int64_t half_vector_bytes = 32;
constexpr std::int64_t half_group_bytes = panel_width * 4;

/// `rows` x 16 sums, one half of a panel: 12 accumulators at most. Arithmetic says what is multiplied: Vector; zero,
/// load and store of 8 sums; load_weights; broadcast of one group of a row; multiply_add.
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
  const std::byte* panel = block.panel + offset;
  for (std::int64_t group = 0; group < block.groups; ++group) {
    const auto left = Arithmetic::load_weights(panel);
    const auto right = Arithmetic::load_weights(panel + half_vector_bytes);
    panel += half_group_bytes;
    const std::byte* const a = block.a + group * 4;
#pragma GCC unroll 6
    for (int row = 0; row < rows; ++row) {
      const auto value = Arithmetic::broadcast(a + row * block.a_stride);
      sums[row][0] = Arithmetic::multiply_add(sums[row][0], value, left);
      sums[row][1] = Arithmetic::multiply_add(sums[row][1], value, right);
    }
  }
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
