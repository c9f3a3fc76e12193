#pragma once

#include <cstdint>
#include <span>

#include "tensor/block_format.h"

namespace assay {

/// What the codes of a quantised weight are, one a byte.
enum class Codes : std::uint8_t {
  int4,  ///< 0 .. 15, less a zero point of 0 .. 16; 8 where none is stored
  int8,  ///< s8, as its zero point is
  e4m3,  ///< Its bits, and so on
  nf4,   ///< Of bitsandbytes, as fp4 is
  fp4,
  nvfp4,  ///< e2m1 with an e4m3 scale a group of 16, divided by one f32 for all
  mxfp4   ///< e2m1 with an e8m0 scale a group of 32
};
/// The value of each code; of int4 and int8, the number itself.
std::span<const float> values_of(Codes codes);

/// What one block holds.
struct BlockParts {
  const std::uint8_t* codes = nullptr;
  std::span<const float> scales = {};             ///< One a group,
  std::span<const std::int16_t> zeros = {};       ///< and so are these, where they are stored,
  std::span<const std::uint8_t> scale_bits = {};  ///< and nvfp4's and mxfp4's scales.
  float global = 1;                               ///< nvfp4
};

/// A format that such weights are laid in, without a change of any value.
struct CodedFormat {
  Codes codes;
  Zero zero;
  DType scale;  ///< f16 or f32; f32 where blocks know one kind of scale only.
  const BlockFormat* blocks;
  void (*lay)(const BlockParts& from, std::byte* block);
};

/// The widest format for rows of `width` codes, `group` of which share a scale; null where there is none.
const CodedFormat* coded_format(Codes codes, Zero zero, DType scale, std::int64_t group, std::int64_t width);

}  // namespace assay
