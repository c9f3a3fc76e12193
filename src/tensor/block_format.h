#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "tensor/dtype.h"
#include "tensor/ggml_blocks.h"
#include "tensor/group_blocks.h"
#include "tensor/make_line_blocks.h"
#include "tensor/make_super_blocks.h"
#include "tensor/table_blocks.h"

namespace assay {

/// How a block of one group is made of codes q: x[i] = scale (q[i] - zero).
struct BlockMaker {
  int lowest;  ///< Of q, and of `zero`.
  int highest;
  Zero zero;    ///< middle: it is 0.
  DType scale;  ///< f16 or f32.
  void (*write)(float scale, int zero, const std::int8_t* codes, std::byte* block);
};

/// How a weight lies in memory that has fewer bits a value than any dtype: rows of blocks, each of which decodes to
/// codes with a scale and a minimum a group:
///
///   x[i] = scales[g] value(codes[i]) - minima[g],   g = i / group
///
/// In a Program such a weight is u8, (rows, bytes of a row).
struct BlockFormat {
  const char* name;  ///< "Q4_1".
  std::int64_t elements;
  std::int64_t bytes;  ///< Of a block.
  std::int64_t group;  ///< Elements that share a scale.
  void (*decode)(const std::byte* block, GroupedCodes& out);
  std::span<const float> table = {};  ///< What a code of 4 or 8 bits without a sign stands for; empty: itself.
  const BlockMaker* maker = nullptr;  ///< Of blocks of one group; null: there is none.
  /// Of blocks of several groups, from `elements` values; null: there is none.
  void (*make)(const float* x, std::byte* block) = nullptr;

  /// Others come from files alone.
  constexpr bool can_be_made() const { return maker != nullptr || make != nullptr; }

  /// Bytes of a row of so many values: whole blocks, what fills up the last one being zero.
  constexpr std::int64_t bytes_of(std::int64_t values) const { return (values + elements - 1) / elements * bytes; }
  /// Values in so many bytes.
  constexpr std::int64_t values_in(std::int64_t row_bytes) const { return row_bytes / bytes * elements; }
};

namespace blocks {
template <int bits, int group, typename Scale = f16, Zero zero = Zero::middle>
constexpr BlockMaker made_by = {.lowest = GroupBlock<bits, group, Scale, zero>::lowest,
                                .highest = GroupBlock<bits, group, Scale, zero>::highest,
                                .zero = zero,
                                .scale = sizeof(Scale) == 2 ? DType::f16 : DType::f32,
                                .write = GroupBlock<bits, group, Scale, zero>::write};
// clang-format off
//                                    name      elements  bytes  group  decode
inline constexpr BlockFormat q8_0 =   {"Q8_0",    32,      34,    32,   decode_q8_0, {}, &made_by<8, 32>};
inline constexpr BlockFormat q4_0 =   {"Q4_0",    32,      18,    32,   decode_q4_0, {}, &made_by<4, 32>};
inline constexpr BlockFormat q4_1 =   {"Q4_1",    32,      20,    32,   decode_q4_1, {}, nullptr, make_q4_1};
inline constexpr BlockFormat q5_0 =   {"Q5_0",    32,      22,    32,   decode_q5_0};
inline constexpr BlockFormat q5_1 =   {"Q5_1",    32,      24,    32,   decode_q5_1};
inline constexpr BlockFormat q2_k =   {"Q2_K",   256,      84,    16,   decode_q2_k};
inline constexpr BlockFormat q3_k =   {"Q3_K",   256,     110,    16,   decode_q3_k};
inline constexpr BlockFormat q4_k =   {"Q4_K",   256,     144,    32,   decode_q4_k, {}, nullptr, make_q4_k};
inline constexpr BlockFormat q5_k =   {"Q5_K",   256,     176,    32,   decode_q5_k, {}, nullptr, make_q5_k};
inline constexpr BlockFormat q6_k =   {"Q6_K",   256,     210,    16,   decode_q6_k, {}, nullptr, make_q6_k};
inline constexpr BlockFormat iq4_nl = {"IQ4_NL",  32,      18,    32,   decode_iq4_nl};
inline constexpr BlockFormat iq4_xs = {"IQ4_XS", 256,     136,    32,   decode_iq4_xs};
inline constexpr BlockFormat mxfp4 =  {"MXFP4",   32,      17,    32,   decode_mxfp4};
inline constexpr BlockFormat nvfp4 =  {"NVFP4",   64,      36,    16,   decode_nvfp4};
// clang-format on

/// One scale a group: "int4 g64", with a zero point "int4z g64", with an f32 scale "int4 g64 f32".
template <int bits, int group, typename Scale, Zero zero>
constexpr BlockFormat grouped(const char* name) {
  using Block = GroupBlock<bits, group, Scale, zero>;
  return {name, group, Block::bytes, group, Block::decode, {}, &made_by<bits, group, Scale, zero>};
}
// clang-format off
inline constexpr BlockFormat int4_g64 =       grouped<4, 64,  f16,   Zero::middle>("int4 g64");
inline constexpr BlockFormat int4_g128 =      grouped<4, 128, f16,   Zero::middle>("int4 g128");
inline constexpr BlockFormat int4z_g32 =      grouped<4, 32,  f16,   Zero::stored>("int4z g32");
inline constexpr BlockFormat int4z_g64 =      grouped<4, 64,  f16,   Zero::stored>("int4z g64");
inline constexpr BlockFormat int4z_g128 =     grouped<4, 128, f16,   Zero::stored>("int4z g128");
inline constexpr BlockFormat int4_g32_f32 =   grouped<4, 32,  float, Zero::middle>("int4 g32 f32");
inline constexpr BlockFormat int4_g64_f32 =   grouped<4, 64,  float, Zero::middle>("int4 g64 f32");
inline constexpr BlockFormat int4_g128_f32 =  grouped<4, 128, float, Zero::middle>("int4 g128 f32");
inline constexpr BlockFormat int4z_g32_f32 =  grouped<4, 32,  float, Zero::stored>("int4z g32 f32");
inline constexpr BlockFormat int4z_g64_f32 =  grouped<4, 64,  float, Zero::stored>("int4z g64 f32");
inline constexpr BlockFormat int4z_g128_f32 = grouped<4, 128, float, Zero::stored>("int4z g128 f32");
inline constexpr BlockFormat int8_g64 =       grouped<8, 64,  f16,   Zero::middle>("int8 g64");
inline constexpr BlockFormat int8_g128 =      grouped<8, 128, f16,   Zero::middle>("int8 g128");
inline constexpr BlockFormat int8z_g32 =      grouped<8, 32,  f16,   Zero::stored>("int8z g32");
inline constexpr BlockFormat int8z_g64 =      grouped<8, 64,  f16,   Zero::stored>("int8z g64");
inline constexpr BlockFormat int8z_g128 =     grouped<8, 128, f16,   Zero::stored>("int8z g128");
inline constexpr BlockFormat int8_g32_f32 =   grouped<8, 32,  float, Zero::middle>("int8 g32 f32");
inline constexpr BlockFormat int8_g64_f32 =   grouped<8, 64,  float, Zero::middle>("int8 g64 f32");
inline constexpr BlockFormat int8_g128_f32 =  grouped<8, 128, float, Zero::middle>("int8 g128 f32");
inline constexpr BlockFormat int8z_g32_f32 =  grouped<8, 32,  float, Zero::stored>("int8z g32 f32");
inline constexpr BlockFormat int8z_g64_f32 =  grouped<8, 64,  float, Zero::stored>("int8z g64 f32");
inline constexpr BlockFormat int8z_g128_f32 = grouped<8, 128, float, Zero::stored>("int8z g128 f32");
// clang-format on

template <int bits, int group>
constexpr BlockFormat tabled(const char* name, std::span<const float> values) {
  using Block = TableBlock<bits, group>;
  return {name, group, Block::bytes, group, Block::decode, values};
}
template <int elements>
constexpr BlockFormat with_global_scale(const char* name) {
  using Block = GlobalScaleBlock<elements>;
  return {name, elements, Block::bytes, Block::group, Block::decode, e2m1_values};
}
// clang-format off
inline constexpr BlockFormat e4m3_g32 =     tabled<8, 32>("e4m3 g32", e4m3_values);
inline constexpr BlockFormat e4m3_g64 =     tabled<8, 64>("e4m3 g64", e4m3_values);
inline constexpr BlockFormat e4m3_g128 =    tabled<8, 128>("e4m3 g128", e4m3_values);
inline constexpr BlockFormat nf4_g32 =      tabled<4, 32>("nf4 g32", nf4_values);
inline constexpr BlockFormat nf4_g64 =      tabled<4, 64>("nf4 g64", nf4_values);
inline constexpr BlockFormat nf4_g128 =     tabled<4, 128>("nf4 g128", nf4_values);
inline constexpr BlockFormat fp4_g32 =      tabled<4, 32>("fp4 g32", fp4_values);
inline constexpr BlockFormat fp4_g64 =      tabled<4, 64>("fp4 g64", fp4_values);
inline constexpr BlockFormat fp4_g128 =     tabled<4, 128>("fp4 g128", fp4_values);
inline constexpr BlockFormat nvfp4_x32 =    with_global_scale<32>("NVFP4 with global scale, 32");
inline constexpr BlockFormat nvfp4_x64 =    with_global_scale<64>("NVFP4 with global scale");
// clang-format on
}  // namespace blocks

/// All of them.
std::span<const BlockFormat* const> block_formats();

/// How a checkpoint holds a weight.
struct WeightFormat {
  DType dtype = DType::f32;             ///< Of plain elements.
  const BlockFormat* blocks = nullptr;  ///< Else these.
};
/// By the weight's name in the Program.
using WeightFormats = std::map<std::string, WeightFormat>;

/// The most values that a block has.
constexpr std::int64_t most_block_elements = 256;

/// The f32 values of a block's codes, format.elements of them.
void expand_codes(const BlockFormat& format, const GroupedCodes& codes, float* out);
/// The f32 values of one block, format.elements of them. Bit-equal to the format's own definition: each is rounded
/// once, for where there is a minimum the product is exact.
void expand_block(const BlockFormat& format, const std::byte* block, float* out);
/// Of all blocks, on all threads; `out` holds exactly their values (a defect where it does not).
void expand_blocks(const BlockFormat& format, std::span<const std::byte> blocks, std::span<float> out);
/// Whether every value is finite. On all threads.
bool blocks_are_finite(const BlockFormat& format, std::span<const std::byte> blocks);

}  // namespace assay
