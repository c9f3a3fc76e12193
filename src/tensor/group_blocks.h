#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/ggml_blocks.h"

namespace assay {

// Blocks of one group with one scale, and a zero point where the type has one, for groups that no type of GGUF has:
//
//   x[i] = scale (q[i] - zero)
//
// Little-endian, without gaps. Four bits: byte i of each 16 holds elements i and i + 16 of a stretch of 32, so that a
// group of 32 with an f16 scale and no zero point is a Q4_0. Eight bits: q and zero are s8; such a group is a Q8_0.
//
//   4 bits              | scale | halves[group / 2] |              q = code - 8
//   4 bits, zero point  | scale | zero u8 | halves[group / 2] |    zero 0 .. 16, in its low five bits
//   8 bits              | scale | q[group] s8 |
//   8 bits, zero point  | scale | zero s8 | q[group] s8 |
enum class Zero : std::uint8_t { middle, stored };

template <int bits, int group, typename Scale, Zero zero>
struct GroupBlock {
  static_assert((bits == 4 || bits == 8) && group % 32 == 0 && group <= 256);
  static constexpr std::size_t zero_at = sizeof(Scale);
  static constexpr std::size_t codes_at = zero_at + (zero == Zero::stored ? 1 : 0);
  static constexpr std::int64_t bytes = codes_at + group * bits / 8;
  /// Of q; symmetric where zero is in the middle, but for the sixteenth code of four bits.
  static constexpr int lowest = zero == Zero::middle ? (bits == 4 ? -8 : -127) : (bits == 4 ? 0 : -128);
  static constexpr int highest = bits == 4 ? lowest + 15 : 127;
  static void decode(const std::byte* block, GroupedCodes& out);
  static void write(float scale, int zero_point, const std::int8_t* codes, std::byte* block);
};

}  // namespace assay
