#include "kernels/cuda/blocks.h"

#include <bit>
#include <vector>

#include "base/error.h"

namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

constexpr Fields nibbles(int at, int run_log2) {
  return {static_cast<std::int16_t>(at), 4, static_cast<std::uint8_t>(run_log2), 1};
}
constexpr Fields quarters(int at) {
  return {static_cast<std::int16_t>(at), 2, 5, 2};
}
constexpr Fields whole_bytes(int at) {
  return {static_cast<std::int16_t>(at), 8, 3, 0};
}
/// Of 32 neighbours in a row, or a bit a stretch of 32 in each of 32 bytes.
constexpr Fields bits_in_a_row(int at) {
  return {static_cast<std::int16_t>(at), 1, 0, 3};
}
constexpr Fields bits_by_stretch(int at) {
  return {static_cast<std::int16_t>(at), 1, 5, 3};
}

using Codes = BlockLayout::Codes;

struct Known {
  const BlockFormat* format;
  BlockLayout layout;
};

// As tensor/ggml_blocks.h draws them.
constexpr Known known[] = {
    {&blocks::q4_1, {.low = nibbles(4, 4), .less_of = LessOf::f16_at_2}},
    {&blocks::q5_0, {.low = nibbles(6, 4), .high = bits_in_a_row(2), .less = 16}},
    {&blocks::q5_1, {.low = nibbles(8, 4), .high = bits_in_a_row(4), .less_of = LessOf::f16_at_2}},
    {&blocks::iq4_nl, {.low = nibbles(2, 4), .codes = Codes::in_table}},
    {&blocks::mxfp4, {.low = nibbles(1, 4), .scale = ScaleOf::e8m0, .codes = Codes::in_table}},
    {&blocks::nvfp4, {.low = nibbles(4, 3), .scale = ScaleOf::ue4m3, .codes = Codes::in_table}},
    {&blocks::q2_k, {.low = quarters(16), .scale = ScaleOf::nibbles, .less_of = LessOf::scale}},
    {&blocks::q3_k, {.low = quarters(32), .high = bits_by_stretch(0), .scale = ScaleOf::six_bits, .less = 4}},
    {&blocks::q4_k, {.low = nibbles(16, 5), .scale = ScaleOf::packed_six, .less_of = LessOf::scale}},
    {&blocks::q5_k,
     {.low = nibbles(48, 5), .high = bits_by_stretch(16), .scale = ScaleOf::packed_six, .less_of = LessOf::scale}},
    {&blocks::q6_k, {.low = nibbles(0, 6), .high = quarters(128), .scale = ScaleOf::bytes, .less = 32}},
    {&blocks::iq4_xs, {.low = nibbles(8, 4), .scale = ScaleOf::split_six, .codes = Codes::in_table}},
};

/// Of one group behind its scale, as tensor/group_blocks.h draws it.
BlockLayout of_maker(const BlockMaker& maker) {
  const int scale_bytes = static_cast<int>(size_of(maker.scale));
  const bool is_stored = maker.zero == Zero::stored;
  const bool is_nibbles = maker.highest - maker.lowest < 16;
  const int codes_at = scale_bytes + (is_stored ? 1 : 0);
  BlockLayout layout;
  layout.scale = maker.scale == DType::f16 ? ScaleOf::f16_at_0 : ScaleOf::f32_at_0;
  layout.low = is_nibbles ? nibbles(codes_at, 4) : whole_bytes(codes_at);
  layout.zero_at = static_cast<std::int16_t>(scale_bytes);
  layout.less = is_nibbles ? 8 : 0;
  if (is_stored) layout.less_of = is_nibbles ? LessOf::u8 : LessOf::s8;
  return layout;
}

/// As tensor/table_blocks.h draws them: behind an f32, and of several groups behind their scales.
BlockLayout of_table(const BlockFormat& format) {
  BlockLayout layout;
  layout.scale = format.group == format.elements ? ScaleOf::f32_at_0 : ScaleOf::e4m3_by_f32;
  layout.codes = format.table.size() > 16 ? Codes::e4m3 : Codes::in_table;
  const auto groups = static_cast<int>(format.elements / format.group);
  const int codes_at = 4 + (groups > 1 ? groups : 0);
  layout.low = layout.codes == Codes::e4m3 ? whole_bytes(codes_at) : nibbles(codes_at, 4);
  return layout;
}

/// What each code of four bits stands for: what the format's own decoder makes of it.
void fill_table(const BlockFormat& format, BlockLayout& layout) {
  std::vector<std::byte> block(static_cast<std::size_t>(format.bytes));
  GroupedCodes codes;
  for (std::size_t code = 0; code < 16; ++code) {
    block[static_cast<std::size_t>(layout.low.at)] = static_cast<std::byte>(code);
    format.decode(block.data(), codes);
    const std::int8_t decoded = codes.codes[0];
    layout.table[code] =
        format.table.empty() ? static_cast<float>(decoded) : format.table[static_cast<std::uint8_t>(decoded)];
  }
}

int log2_of(std::int64_t power) {
  return std::countr_zero(static_cast<std::uint64_t>(power));
}

BlockLayout fields_of(const BlockFormat& format) {
  for (const Known& one : known) {
    if (one.format == &format) return one.layout;
  }
  ASSAY_ASSERT(format.maker != nullptr || !format.table.empty());
  return format.maker != nullptr ? of_maker(*format.maker) : of_table(format);
}

}  // namespace

BlockLayout layout_of(const BlockFormat& format) {
  BlockLayout layout = fields_of(format);
  layout.elements_log2 = static_cast<std::uint8_t>(log2_of(format.elements));
  layout.group_log2 = static_cast<std::uint8_t>(log2_of(format.group));
  layout.bytes = static_cast<std::int32_t>(format.bytes);
  if (layout.codes == Codes::in_table) fill_table(format, layout);
  return layout;
}

InBlocks blocks_of(const Call& call, std::size_t index) {
  return {nullptr, call.in(index).shape[1], layout_of(*call.attributes.blocks)};
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
