#include "tensor/coded_formats.h"

#include <array>
#include <cstring>

namespace assay {
namespace {

/// As group_blocks.h draws them; also GGUF's.
void lay_halves(const std::uint8_t* codes, int count, std::byte* to) {
  for (int at = 0; at < count; at += 32, codes += 32, to += 16) {
    for (int i = 0; i < 16; ++i) to[i] = static_cast<std::byte>(codes[i] | codes[i + 16] << 4);
  }
}

template <int bits>
void lay_codes(const std::uint8_t* codes, int count, std::byte* to) {
  if constexpr (bits == 4) {
    lay_halves(codes, count, to);
  } else {
    std::memcpy(to, codes, static_cast<std::size_t>(count));
  }
}

template <typename Scale>
void lay_scale(float value, std::byte* to) {
  if constexpr (sizeof(Scale) == 2) {
    const f16 narrow = to_f16(value);
    std::memcpy(to, &narrow, sizeof(narrow));
  } else {
    std::memcpy(to, &value, sizeof(value));
  }
}

template <int bits, int group, typename Scale, Zero zero>
void lay_group(const BlockParts& from, std::byte* block) {
  using Block = GroupBlock<bits, group, Scale, zero>;
  lay_scale<Scale>(from.scales[0], block);
  if constexpr (zero == Zero::stored) block[Block::zero_at] = static_cast<std::byte>(from.zeros[0]);
  lay_codes<bits>(from.codes, group, block + Block::codes_at);
}

template <int bits, int group>
void lay_table(const BlockParts& from, std::byte* block) {
  lay_scale<float>(from.scales[0], block);
  lay_codes<bits>(from.codes, group, block + TableBlock<bits, group>::codes_at);
}

template <int elements>
void lay_nvfp4(const BlockParts& from, std::byte* block) {
  using Block = GlobalScaleBlock<elements>;
  lay_scale<float>(from.global, block);
  std::memcpy(block + Block::scales_at, from.scale_bits.data(), elements / Block::group);
  lay_halves(from.codes, elements, block + Block::codes_at);
}

void lay_mxfp4(const BlockParts& from, std::byte* block) {
  block[0] = static_cast<std::byte>(from.scale_bits[0]);
  lay_halves(from.codes, 32, block + 1);
}

constexpr std::array<float, 256> whole_numbers(int first_negative) {
  std::array<float, 256> values = {};
  for (int i = 0; i < 256; ++i)
    values[static_cast<std::size_t>(i)] = static_cast<float>(i < first_negative ? i : i - 256);
  return values;
}
constexpr std::array<float, 256> unsigned_values = whole_numbers(256);
constexpr std::array<float, 256> signed_values = whole_numbers(128);

// clang-format off
/// Of one kind, the widest first.
constexpr CodedFormat coded_formats[] = {
    {Codes::int4,  Zero::middle, DType::f16, &blocks::int4_g128,      lay_group<4, 128, f16, Zero::middle>},
    {Codes::int4,  Zero::middle, DType::f16, &blocks::int4_g64,       lay_group<4, 64, f16, Zero::middle>},
    {Codes::int4,  Zero::middle, DType::f16, &blocks::q4_0,           lay_group<4, 32, f16, Zero::middle>},
    {Codes::int4,  Zero::middle, DType::f32, &blocks::int4_g128_f32,  lay_group<4, 128, float, Zero::middle>},
    {Codes::int4,  Zero::middle, DType::f32, &blocks::int4_g64_f32,   lay_group<4, 64, float, Zero::middle>},
    {Codes::int4,  Zero::middle, DType::f32, &blocks::int4_g32_f32,   lay_group<4, 32, float, Zero::middle>},
    {Codes::int4,  Zero::stored, DType::f16, &blocks::int4z_g128,     lay_group<4, 128, f16, Zero::stored>},
    {Codes::int4,  Zero::stored, DType::f16, &blocks::int4z_g64,      lay_group<4, 64, f16, Zero::stored>},
    {Codes::int4,  Zero::stored, DType::f16, &blocks::int4z_g32,      lay_group<4, 32, f16, Zero::stored>},
    {Codes::int4,  Zero::stored, DType::f32, &blocks::int4z_g128_f32, lay_group<4, 128, float, Zero::stored>},
    {Codes::int4,  Zero::stored, DType::f32, &blocks::int4z_g64_f32,  lay_group<4, 64, float, Zero::stored>},
    {Codes::int4,  Zero::stored, DType::f32, &blocks::int4z_g32_f32,  lay_group<4, 32, float, Zero::stored>},
    {Codes::int8,  Zero::middle, DType::f16, &blocks::int8_g128,      lay_group<8, 128, f16, Zero::middle>},
    {Codes::int8,  Zero::middle, DType::f16, &blocks::int8_g64,       lay_group<8, 64, f16, Zero::middle>},
    {Codes::int8,  Zero::middle, DType::f16, &blocks::q8_0,           lay_group<8, 32, f16, Zero::middle>},
    {Codes::int8,  Zero::middle, DType::f32, &blocks::int8_g128_f32,  lay_group<8, 128, float, Zero::middle>},
    {Codes::int8,  Zero::middle, DType::f32, &blocks::int8_g64_f32,   lay_group<8, 64, float, Zero::middle>},
    {Codes::int8,  Zero::middle, DType::f32, &blocks::int8_g32_f32,   lay_group<8, 32, float, Zero::middle>},
    {Codes::int8,  Zero::stored, DType::f16, &blocks::int8z_g128,     lay_group<8, 128, f16, Zero::stored>},
    {Codes::int8,  Zero::stored, DType::f16, &blocks::int8z_g64,      lay_group<8, 64, f16, Zero::stored>},
    {Codes::int8,  Zero::stored, DType::f16, &blocks::int8z_g32,      lay_group<8, 32, f16, Zero::stored>},
    {Codes::int8,  Zero::stored, DType::f32, &blocks::int8z_g128_f32, lay_group<8, 128, float, Zero::stored>},
    {Codes::int8,  Zero::stored, DType::f32, &blocks::int8z_g64_f32,  lay_group<8, 64, float, Zero::stored>},
    {Codes::int8,  Zero::stored, DType::f32, &blocks::int8z_g32_f32,  lay_group<8, 32, float, Zero::stored>},
    {Codes::e4m3,  Zero::middle, DType::f32, &blocks::e4m3_g128,      lay_table<8, 128>},
    {Codes::e4m3,  Zero::middle, DType::f32, &blocks::e4m3_g64,       lay_table<8, 64>},
    {Codes::e4m3,  Zero::middle, DType::f32, &blocks::e4m3_g32,       lay_table<8, 32>},
    {Codes::nf4,   Zero::middle, DType::f32, &blocks::nf4_g128,       lay_table<4, 128>},
    {Codes::nf4,   Zero::middle, DType::f32, &blocks::nf4_g64,        lay_table<4, 64>},
    {Codes::nf4,   Zero::middle, DType::f32, &blocks::nf4_g32,        lay_table<4, 32>},
    {Codes::fp4,   Zero::middle, DType::f32, &blocks::fp4_g128,       lay_table<4, 128>},
    {Codes::fp4,   Zero::middle, DType::f32, &blocks::fp4_g64,        lay_table<4, 64>},
    {Codes::fp4,   Zero::middle, DType::f32, &blocks::fp4_g32,        lay_table<4, 32>},
    {Codes::nvfp4, Zero::middle, DType::f32, &blocks::nvfp4_x64,      lay_nvfp4<64>},
    {Codes::nvfp4, Zero::middle, DType::f32, &blocks::nvfp4_x32,      lay_nvfp4<32>},
    {Codes::mxfp4, Zero::middle, DType::f32, &blocks::mxfp4,          lay_mxfp4},
};
// clang-format on

}  // namespace

std::span<const float> values_of(Codes codes) {
  switch (codes) {
    case Codes::int4:
      return unsigned_values;
    case Codes::int8:
      return signed_values;
    case Codes::e4m3:
      return e4m3_values;
    case Codes::nf4:
      return nf4_values;
    case Codes::fp4:
      return fp4_values;
    case Codes::nvfp4:
    case Codes::mxfp4:
      return e2m1_values;
  }
  return {};
}

const CodedFormat* coded_format(Codes codes, Zero zero, DType scale, std::int64_t group, std::int64_t width) {
  for (const CodedFormat& format : coded_formats) {
    const bool is_kind = format.codes == codes && format.zero == zero && format.scale == scale;
    if (is_kind && group % format.blocks->group == 0 && width % format.blocks->elements == 0) return &format;
  }
  return nullptr;
}

}  // namespace assay
