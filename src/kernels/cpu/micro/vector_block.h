#pragma once

#include "kernels/cpu/micro/block.h"

// Included behind ASSAY_TARGET by each vector kernel: the loop over K that they share.
namespace assay::cpu::micro {
namespace {

constexpr std::int64_t vector_bytes = 64;
constexpr std::int64_t group_panel_bytes = 2 * vector_bytes;
constexpr int groups_a_fetch_of_few = 4;

/// `rows` x 32 sums in registers. Arithmetic says what is multiplied: Vector; zero, load and store of 16 sums;
/// load_weights; broadcast of one group of a row; multiply_add.
///
/// Rows are addressed from one pointer for each three, in steps of the stride: 12 pointers would not fit the registers.
///
/// What will be read soon is fetched once in `groups_a_fetch` groups, the same line several times where there are fewer
/// lines than fetches: no branch in the loop. A fetch in every group costs products of f32 5 to 10 %.
template <typename Arithmetic, int rows, int groups_a_fetch>
inline void multiply_rows(const Block& block) {
  using Vector = typename Arithmetic::Vector;
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
  const auto multiply_groups = [&]<int count>() __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int group = 0; group < count; ++group) {
      const auto left = Arithmetic::load_weights(panel + group * group_panel_bytes);
      const auto right = Arithmetic::load_weights(panel + group * group_panel_bytes + vector_bytes);
#pragma GCC unroll 12
      for (int row = 0; row < rows; ++row) {
        const std::byte* const triple = row < 3 ? a0 : row < 6 ? a3 : row < 9 ? a6 : a9;
        const auto value = Arithmetic::broadcast(triple + (row % 3) * stride + group * Arithmetic::group_bytes);
        sums[row][0] = Arithmetic::multiply_add(sums[row][0], value, left);
        sums[row][1] = Arithmetic::multiply_add(sums[row][1], value, right);
      }
    }
    panel += count * group_panel_bytes;
    a0 += count * Arithmetic::group_bytes;
    a3 += count * Arithmetic::group_bytes;
    a6 += count * Arithmetic::group_bytes;
    a9 += count * Arithmetic::group_bytes;
    // Keeps each pointer in a register; GCC 12 would add to all of them as one vector in memory.
    asm("" : "+r"(a0), "+r"(a3), "+r"(a6), "+r"(a9));
  };
  const std::int64_t fetches = block.groups / groups_a_fetch;
  const bool has_ahead = block.ahead.bytes > 0 && fetches > 0;
  const std::byte* ahead = has_ahead ? block.ahead.data : panel;
  const std::int64_t ahead_step = has_ahead ? (block.ahead.bytes + fetches - 1) / fetches : 0;
  for (std::int64_t fetch = 0; fetch < fetches; ++fetch) {
    multiply_groups.template operator()<groups_a_fetch>();
    _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
    ahead += ahead_step;
  }
  for (std::int64_t left = block.groups % groups_a_fetch; left > 0; --left) multiply_groups.template operator()<1>();
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
  // Steps of a line at most miss none.
  const bool few_lines = block.ahead.bytes <= block.groups / groups_a_fetch_of_few * line_bytes;
  if (few_lines) return multiply_rows<Arithmetic, rows, groups_a_fetch_of_few>(block);
  multiply_rows<Arithmetic, rows, 1>(block);
}

}  // namespace
}  // namespace assay::cpu::micro
