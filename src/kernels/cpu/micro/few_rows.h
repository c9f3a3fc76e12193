#pragma once

#include "kernels/cpu/micro/block.h"

// Included behind ASSAY_TARGET by the loops for few rows: stored weights become the operand in registers, on their way
// from memory to the sums. They read one panel front to back: on a Zen 4 that alone reaches what reading alone does,
// while two or four panels side by side, or fetching ahead, lose 3 to 15 % of it: Arithmetic::ahead is 0, or how many
// bytes ahead a loop asks that is too long for the processor to look so far.
namespace assay::cpu::micro {
namespace {

/// `rows` rows times a panel as it is stored. Arithmetic: Vector of `lanes` sums; zero, add, store; load of
/// `stored_bytes`, which hold a group of K for as many outputs as there are lanes; a group takes `steps` steps, each
/// with 4 bytes of a row: widen<step>, broadcast, multiply_add.
///
/// The steps of a group go to two sets of sums in turn where registers suffice: in one set each would wait for the last
/// one, four of them for 128 bytes of s8.
template <typename Arithmetic, int rows>
inline void multiply_widened(const Block& block) {
  constexpr int vectors = panel_width / Arithmetic::lanes;
  constexpr int sets = Arithmetic::steps > 1 && 2 * rows * vectors <= Arithmetic::most_sums ? 2 : 1;
  typename Arithmetic::Vector sums[sets * rows][vectors];
#pragma GCC unroll 8
  for (int row = 0; row < sets * rows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) sums[row][v] = Arithmetic::zero();
  }
  const std::byte* panel = block.panel;
  const std::byte* a = block.a;
  const std::int64_t stride = block.a_stride;
  for (std::int64_t group = block.groups; group > 0; --group) {
    if constexpr (Arithmetic::ahead > 0) {
#pragma GCC unroll 2
      for (int line = 0; line < vectors * Arithmetic::stored_bytes / line_bytes; ++line)
        __builtin_prefetch(panel + Arithmetic::ahead + line * line_bytes);
    }
    const auto multiply_step = [&]<int step>() __attribute__((always_inline)) {
      if constexpr (step < Arithmetic::steps) {
        constexpr int set = step % sets * rows;
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
          const auto weights = Arithmetic::template widen<step>(Arithmetic::load(panel + v * Arithmetic::stored_bytes));
#pragma GCC unroll 4
          for (int row = 0; row < rows; ++row) {
            const auto value = Arithmetic::broadcast(a + row * stride + step * 4);
            sums[set + row][v] = Arithmetic::multiply_add(sums[set + row][v], value, weights);
          }
        }
      }
    };
    multiply_step.template operator()<0>();
    multiply_step.template operator()<1>();
    multiply_step.template operator()<2>();
    multiply_step.template operator()<3>();
    panel += vectors * Arithmetic::stored_bytes;
    a += Arithmetic::steps * 4;
  }
#pragma GCC unroll 4
  for (int row = 0; row < rows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const auto sum = sets > 1 ? Arithmetic::add(sums[row][v], sums[(sets - 1) * rows + row][v]) : sums[row][v];
      Arithmetic::store(block.c + (row * vectors + v) * Arithmetic::lanes * 4, sum);
    }
  }
}

template <typename Arithmetic, int rows>
void multiply_widened_up_to(const Block& block, int count) {
  if constexpr (rows > 1) {
    if (count < rows) return multiply_widened_up_to<Arithmetic, rows - 1>(block, count);
  }
  multiply_widened<Arithmetic, rows>(block);
}

}  // namespace
}  // namespace assay::cpu::micro
