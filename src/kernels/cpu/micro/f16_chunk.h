#pragma once

#include "kernels/cpu/micro/block.h"

// Included behind ASSAY_TARGET: sums in f16 for one chunk of K, then added to f32 sums.
namespace assay::cpu::micro {
namespace {

/// `rows` x 32 f16 sums in registers. Arithmetic: Vector of 32 f16; zero; load_weights; broadcast of one value of a
/// row; multiply_add with one rounding; flush: c (32 f32) = or += the sums.
template <typename Arithmetic, int rows>
inline void multiply_f16_rows(const Block& block) {
  using Vector = typename Arithmetic::Vector;
  constexpr std::int64_t group_bytes = 64;
  constexpr std::int64_t value_bytes = 2;
  Vector sums[rows];
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row) sums[row] = Arithmetic::zero();
  for (std::int64_t group = 0; group < block.groups; ++group) {
    const Vector weights = Arithmetic::load_weights(block.panel + group * group_bytes);
    const std::byte* const a = block.a + group * value_bytes;
#pragma GCC unroll 12
    for (int row = 0; row < rows; ++row) {
      sums[row] = Arithmetic::multiply_add(sums[row], Arithmetic::broadcast(a + row * block.a_stride), weights);
    }
  }
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row) Arithmetic::flush(block.c + row * panel_width * 4, sums[row], block.sums);
}

template <typename Arithmetic, int rows>
void multiply_f16_up_to(const Block& block, int count) {
  if constexpr (rows > 1) {
    if (count < rows) return multiply_f16_up_to<Arithmetic, rows - 1>(block, count);
  }
  multiply_f16_rows<Arithmetic, rows>(block);
}

}  // namespace
}  // namespace assay::cpu::micro
