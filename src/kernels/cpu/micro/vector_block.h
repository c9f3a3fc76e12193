#pragma once

#include "kernels/cpu/micro/block.h"

// Included behind ASSAY_TARGET by each vector kernel: the loop over K that they share.
namespace assay::cpu::micro {
namespace {

/// `rows` x 32 sums in registers. Arithmetic says what is multiplied: Vector; zero, load and store of 16 sums;
/// load_weights; broadcast of one group of a row; multiply_add.
///
/// Rows are addressed from one pointer for each three, in steps of the stride: 12 pointers would not fit the registers.
template <typename Arithmetic, int rows>
inline void multiply_rows(const Block& block) {
  using Vector = typename Arithmetic::Vector;
  constexpr std::int64_t vector_bytes = 64;
  Vector sums[rows][2];
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row) {
    const std::byte* const c = block.c + row * 2 * vector_bytes;
    sums[row][0] = block.sums == Sums::start ? Arithmetic::zero() : Arithmetic::load(c);
    sums[row][1] = block.sums == Sums::start ? Arithmetic::zero() : Arithmetic::load(c + vector_bytes);
  }
  const std::int64_t stride = block.a_stride;
  const std::byte* a0 = block.a;
  const std::byte* a3 = a0 + 3 * stride;
  const std::byte* a6 = a3 + 3 * stride;
  const std::byte* a9 = a6 + 3 * stride;
  const std::byte* panel = block.panel;
  // One fetch a group, of the same line several times where there are fewer lines than groups: no branch in the loop.
  const bool has_ahead = block.ahead.bytes > 0 && block.groups > 0;
  const std::byte* ahead = has_ahead ? block.ahead.data : panel;
  const std::int64_t ahead_step = has_ahead ? (block.ahead.bytes + block.groups - 1) / block.groups : 0;
  for (std::int64_t group = 0; group < block.groups; ++group) {
    const auto left = Arithmetic::load_weights(panel);
    const auto right = Arithmetic::load_weights(panel + vector_bytes);
#pragma GCC unroll 12
    for (int row = 0; row < rows; ++row) {
      const std::byte* const triple = row < 3 ? a0 : row < 6 ? a3 : row < 9 ? a6 : a9;
      const auto value = Arithmetic::broadcast(triple + (row % 3) * stride);
      sums[row][0] = Arithmetic::multiply_add(sums[row][0], value, left);
      sums[row][1] = Arithmetic::multiply_add(sums[row][1], value, right);
    }
    panel += 2 * vector_bytes;
    _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
    ahead += ahead_step;
    a0 += Arithmetic::group_bytes;
    a3 += Arithmetic::group_bytes;
    a6 += Arithmetic::group_bytes;
    a9 += Arithmetic::group_bytes;
    // Keeps each pointer in a register; GCC 12 would add to all of them as one vector in memory.
    asm("" : "+r"(a0), "+r"(a3), "+r"(a6), "+r"(a9));
  }
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row) {
    std::byte* const c = block.c + row * 2 * vector_bytes;
    Arithmetic::store(c, sums[row][0]);
    Arithmetic::store(c + vector_bytes, sums[row][1]);
  }
}

template <typename Arithmetic, int rows>
void multiply_up_to(const Block& block, int count) {
  if constexpr (rows > 1) {
    if (count < rows) return multiply_up_to<Arithmetic, rows - 1>(block, count);
  }
  multiply_rows<Arithmetic, rows>(block);
}

}  // namespace
}  // namespace assay::cpu::micro
