#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/ggml_blocks.h"
#include "tensor/small_float.h"

namespace assay {

// Blocks whose codes stand for values without even steps between them, which a table holds:
//
//   x[i] = scale values[q[i]]
//
// Little-endian, without gaps; four bits lie in halves as in group_blocks.h.
//
//   e4m3         | scale f32 | q[group] |
//   nf4, fp4     | scale f32 | halves[group / 2] |                              bitsandbytes
//   e2m1 global  | global f32 | scales e4m3[groups] | halves[elements / 2] |   groups of 16, scale = e4m3 / global:
//                                                                              NVFP4 of compressed-tensors

/// Quantiles of the normal distribution (Dettmers et al. 2023), as bitsandbytes has them.
inline constexpr std::array<float, 16> nf4_values = {-1.0F,
                                                     -0.6961928009986877F,
                                                     -0.5250730514526367F,
                                                     -0.39491748809814453F,
                                                     -0.28444138169288635F,
                                                     -0.18477343022823334F,
                                                     -0.09105003625154495F,
                                                     0.0F,
                                                     0.07958029955625534F,
                                                     0.16093020141124725F,
                                                     0.24611230194568634F,
                                                     0.33791524171829224F,
                                                     0.44070982933044434F,
                                                     0.5626170039176941F,
                                                     0.7229568362236023F,
                                                     1.0F};
/// bitsandbytes' own float of four bits, divided by the largest.
inline constexpr std::array<float, 16> fp4_values = {
    0.0F, 0.0625F / 12,  8.0F / 12,  1.0F,  4.0F / 12,  6.0F / 12,  2.0F / 12,  3.0F / 12,
    0.0F, -0.0625F / 12, -8.0F / 12, -1.0F, -4.0F / 12, -6.0F / 12, -2.0F / 12, -3.0F / 12};
/// OCP's float of four bits: the sign, two bits of exponent, one of mantissa.
inline constexpr std::array<float, 16> e2m1_values = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,  4.0F,  6.0F,
                                                      -0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};

/// One f32 scale before codes of 8 or 4 bits.
template <int bits, int group>
struct TableBlock {
  static constexpr std::size_t codes_at = sizeof(float);
  static constexpr std::int64_t bytes = codes_at + group * bits / 8;
  static void decode(const std::byte* block, GroupedCodes& out);
};

template <int elements>
struct GlobalScaleBlock {
  static constexpr int group = 16;
  static constexpr std::size_t scales_at = sizeof(float);
  static constexpr std::size_t codes_at = scales_at + elements / group;
  static constexpr std::int64_t bytes = codes_at + elements / 2;
  static void decode(const std::byte* block, GroupedCodes& out);
};

}  // namespace assay
