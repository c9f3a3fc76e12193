#pragma once

#include "kernels/cuda/access.h"
#include "tensor/block_format.h"

/// Weights in blocks of a few bits a value (tensor/block_format.h), decoded where they lie, eight neighbours at a time:
/// these share a scale in every format.
namespace assay::ASSAY_CUDA_NAMESPACE {

/// Numbers of `bits` bits, of which a byte holds several. Those of `run` neighbours lie in bytes that follow one
/// another, the next `run` in the same bytes above them:
///
///   number i: byte at + i / (run a_byte) run + i % run, from bit i / run % a_byte bits on
struct Fields {
  std::int16_t at = 0;         ///< Bytes into the block.
  std::uint8_t bits = 0;       ///< 0: there are none.
  std::uint8_t run_log2 = 3;   ///< 0, or 3 and more: eight neighbours are one byte, or in eight.
  std::uint8_t byte_log2 = 0;  ///< Numbers in a byte.
};

/// What a group's scale is made of.
enum class ScaleOf : std::uint8_t {
  f16_at_0,
  f32_at_0,
  e8m0,         ///< 2^(byte 0 - 128)
  ue4m3,        ///< A byte a group from 0 on, without sign; halved.
  nibbles,      ///< Q2_K
  six_bits,     ///< Q3_K
  packed_six,   ///< Q4_K, Q5_K
  bytes,        ///< Q6_K
  split_six,    ///< IQ4_XS
  e4m3_by_f32,  ///< A byte a group behind the f32 that they are divided by.
};

/// What is taken off, by the code or by the value.
enum class LessOf : std::uint8_t {
  constant,  ///< Layout::less, of the code.
  u8,        ///< The low five bits of a byte, of the code.
  s8,        ///< A byte times the scale, of the value.
  f16_at_2,  ///< What is added: its negative.
  scale,     ///< Of the value, as the scale says.
};

/// How the blocks of one format lie, as far as a kernel has to know.
struct BlockLayout {
  Fields low = {};   ///< Of a code, its low bits
  Fields high = {};  ///< and its high ones.
  ScaleOf scale = ScaleOf::f16_at_0;
  LessOf less_of = LessOf::constant;
  std::int16_t less = 0;
  std::int16_t zero_at = 0;  ///< u8, s8: of the byte.
  enum class Codes : std::uint8_t { whole, in_table, e4m3 } codes = Codes::whole;
  std::uint8_t elements_log2 = 5;
  std::uint8_t group_log2 = 5;
  std::int32_t bytes = 0;  ///< Of a block.
  float table[16] = {};    ///< What codes stand for.
};

/// Every format of block_formats() has one.
BlockLayout layout_of(const BlockFormat& format);

/// Eight codes with what makes values of them: scale code - minimum.
struct CodePack {
  int code[pack_width];
  float scale;
  float minimum;
};

ON_DEVICE inline std::uint32_t byte_at(const std::byte* block, std::int64_t i) {
  return static_cast<std::uint32_t>(block[i]);
}
ON_DEVICE inline int signed_byte_at(const std::byte* block, std::int64_t i) {
  return static_cast<std::int8_t>(block[i]);
}
/// At an odd address too.
ON_DEVICE inline float f16_in(const std::byte* block, std::int64_t i) {
  return from_f16(static_cast<std::uint16_t>(byte_at(block, i) | byte_at(block, i + 1) << 8));
}
ON_DEVICE inline float f32_in(const std::byte* block, std::int64_t i) {
  return std::bit_cast<float>(byte_at(block, i) | byte_at(block, i + 1) << 8 | byte_at(block, i + 2) << 16 |
                              byte_at(block, i + 3) << 24);
}

struct ScaleAndMinimum {
  float scale;
  float minimum;
};

/// As set_packed_groups of tensor/ggml_blocks.cc.
ON_DEVICE inline ScaleAndMinimum packed_six_bits(const std::byte* block, int group) {
  const std::byte* packed = block + 4;
  const int i = group % 4;
  std::uint32_t scale = byte_at(packed, i) & 0x3F;
  std::uint32_t minimum = byte_at(packed, i + 4) & 0x3F;
  if (group >= 4) {
    scale = (byte_at(packed, i + 8) & 0x0F) | ((byte_at(packed, i) >> 2) & 0x30);
    minimum = (byte_at(packed, i + 8) >> 4) | ((byte_at(packed, i + 4) >> 2) & 0x30);
  }
  return {f16_in(block, 0) * static_cast<float>(scale), f16_in(block, 2) * static_cast<float>(minimum)};
}

/// As half_e8m0 of tensor/ggml_blocks.cc: the two smallest are subnormal.
ON_DEVICE inline float half_e8m0_in(const std::byte* block) {
  const std::uint32_t exponent = byte_at(block, 0);
  return std::bit_cast<float>(exponent < 2 ? 0x00200000U << exponent : (exponent - 1) << 23);
}

/// As half_ue4m3 of tensor/ggml_blocks.cc: half of an e4m3 without sign, whose number for "no number" counts as 0.
ON_DEVICE inline float half_ue4m3_in(const std::byte* block, int group) {
  const std::uint32_t bits = byte_at(block, group);
  if (bits == 0x7F) return 0;
  const std::uint32_t exponent = (bits >> 3) & 0x0F;
  const auto mantissa = static_cast<float>(bits & 7);
  return 0.5F *
         (exponent == 0 ? mantissa * 0x1p-9F : (1 + mantissa / 8) * std::bit_cast<float>((exponent - 7U + 127U) << 23));
}

/// Six bits in two places, less 32.
ON_DEVICE inline float six_bits_of(std::uint32_t low, std::uint32_t high) {
  return static_cast<float>(static_cast<int>((low & 0x0F) | (high & 3) << 4) - 32);
}

ON_DEVICE inline ScaleAndMinimum scale_of(const BlockLayout& layout, const std::byte* block, int group) {
  switch (layout.scale) {
    case ScaleOf::f16_at_0:
      return {f16_in(block, 0), 0};
    case ScaleOf::f32_at_0:
      return {f32_in(block, 0), 0};
    case ScaleOf::e8m0:
      return {half_e8m0_in(block), 0};
    case ScaleOf::ue4m3:
      return {half_ue4m3_in(block, group), 0};
    case ScaleOf::nibbles:
      return {f16_in(block, 80) * static_cast<float>(byte_at(block, group) & 0x0F),
              f16_in(block, 82) * static_cast<float>(byte_at(block, group) >> 4)};
    case ScaleOf::six_bits:
      return {f16_in(block, 108) * six_bits_of(byte_at(block, 96 + group % 8) >> (group < 8 ? 0 : 4),
                                               byte_at(block, 104 + group % 4) >> (group / 4 * 2)),
              0};
    case ScaleOf::packed_six:
      return packed_six_bits(block, group);
    case ScaleOf::bytes:
      return {f16_in(block, 208) * static_cast<float>(signed_byte_at(block, 192 + group)), 0};
    case ScaleOf::split_six:
      return {f16_in(block, 0) * six_bits_of(byte_at(block, 4 + group / 2) >> (group % 2 * 4),
                                             byte_at(block, 2 + group / 4) >> (group % 4 * 2)),
              0};
    case ScaleOf::e4m3_by_f32:
      return {from_8bit(DType::e4m3, static_cast<std::uint8_t>(byte_at(block, 4 + group))) / f32_in(block, 0), 0};
  }
  return {0, 0};
}

/// Adds eight neighbours' numbers to `codes`, from bit `shift` on.
ON_DEVICE inline void add_fields(const Fields& fields, const std::byte* block, int first, int shift, int* codes) {
  const std::uint32_t mask = (1U << fields.bits) - 1;
  if (fields.run_log2 == 0) {  // Of one bit each.
    const std::uint32_t eight = byte_at(block, fields.at + (first >> fields.byte_log2));
    UNROLLED
    for (int i = 0; i < pack_width; ++i) codes[i] |= static_cast<int>(((eight >> i) & mask) << shift);
    return;
  }
  const int stretch = first >> fields.run_log2;
  const int in_run = first & ((1 << fields.run_log2) - 1);
  const int byte = fields.at + (stretch >> fields.byte_log2 << fields.run_log2) + in_run;
  const int from = (stretch & ((1 << fields.byte_log2) - 1)) * fields.bits;
  UNROLLED
  for (int i = 0; i < pack_width; ++i)
    codes[i] |= static_cast<int>(((byte_at(block, byte + i) >> from) & mask) << shift);
}

/// A weight as rows of blocks: what In is to plain elements.
struct InBlocks {
  const std::byte* data = nullptr;
  std::int64_t row_bytes = 0;
  BlockLayout layout = {};

  InBlocks at(const std::byte* address) const { return {address, row_bytes, layout}; }

  ON_DEVICE const std::byte* block(std::int64_t row, std::int64_t first) const {
    return data + row * row_bytes + (first >> layout.elements_log2) * layout.bytes;
  }

  /// Codes first .. first + 7 of a row; `first` is a multiple of eight. Those of a table are what it says, as far as
  /// they are whole.
  ON_DEVICE CodePack codes(std::int64_t row, std::int64_t first) const {
    const std::byte* from = block(row, first);
    const int place = static_cast<int>(first & ((std::int64_t{1} << layout.elements_log2) - 1));
    const ScaleAndMinimum of_group = scale_of(layout, from, place >> layout.group_log2);
    CodePack pack = {{}, of_group.scale, of_group.minimum};
    add_fields(layout.low, from, place, 0, pack.code);
    if (layout.high.bits != 0) add_fields(layout.high, from, place, layout.low.bits, pack.code);
    int less = layout.less;
    if (layout.less_of == LessOf::u8) less = static_cast<int>(byte_at(from, layout.zero_at) & 0x1F);
    if (layout.less_of == LessOf::s8)
      pack.minimum = pack.scale * static_cast<float>(signed_byte_at(from, layout.zero_at));
    if (layout.less_of == LessOf::f16_at_2) pack.minimum = -f16_in(from, 2);
    UNROLLED
    for (int i = 0; i < pack_width; ++i) {
      if (layout.codes == BlockLayout::Codes::whole)
        pack.code[i] = layout.low.bits == 8 ? static_cast<std::int8_t>(pack.code[i]) : pack.code[i] - less;
    }
    return pack;
  }

  /// Of formats whose codes stand for whole numbers.
  ON_DEVICE int whole_of(int code) const {
    return layout.codes == BlockLayout::Codes::whole ? code : static_cast<int>(layout.table[code]);
  }
  ON_DEVICE float value_of(int code) const {
    if (layout.codes == BlockLayout::Codes::whole) return static_cast<float>(code);
    if (layout.codes == BlockLayout::Codes::e4m3) return from_8bit(DType::e4m3, static_cast<std::uint8_t>(code));
    return layout.table[code];
  }

  /// Values first .. first + 7 of a row of `width`; zeros behind its end.
  ON_DEVICE Pack pack(std::int64_t row, std::int64_t first, std::int64_t width) const {
    const CodePack coded = codes(row, first);
    Pack result;
    UNROLLED
    for (int i = 0; i < pack_width; ++i)
      result.value[i] = first + i < width ? coded.scale * value_of(coded.code[i]) - coded.minimum : 0;
    return result;
  }
};

/// The weight in blocks that is an input of the call, without its address. Its format has a layout.
InBlocks blocks_of(const Call& call, std::size_t index);

}  // namespace assay::ASSAY_CUDA_NAMESPACE
