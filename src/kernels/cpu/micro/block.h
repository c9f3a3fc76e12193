#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/block_format.h"

/// The inner loops of matrix products: rows of x times one panel of packed weights. Every function here needs the
/// instruction set that its comment names; nobody checks that again.
namespace assay::cpu::micro {

/// Outputs of a panel; two vectors of 16 sums, or two tiles.
constexpr int panel_width = 32;

constexpr std::int64_t line_bytes = 64;  ///< Of every cache.

enum class Sums : std::uint8_t { start, go_on };

/// What will be read soon: a kernel fetches it into the second cache while it multiplies, a little every few steps of
/// K. Weights come from memory once a forward pass, and a processor's own prefetching ends at every page. A hint: the
/// loops of AVX2 and of f16 sums take none.
struct Ahead {
  const std::byte* data = nullptr;
  std::int64_t bytes = 0;

  /// The lines that fall to `rows` rows from `row` on, of `all` rows that share the fetching.
  Ahead share(std::int64_t row, std::int64_t rows, std::int64_t all) const {
    const std::int64_t begin = bytes * row / all / line_bytes * line_bytes;
    const std::int64_t end = row + rows >= all ? bytes : bytes * (row + rows) / all / line_bytes * line_bytes;
    return {data + begin, end - begin};
  }
};

/// c (rows, 32) = a (rows, K) times a stretch of a panel, or that is added to c.
///
/// The stretch holds `groups` groups of K, 128 bytes each: 32 outputs times 4 bytes (1 f32, 2 bf16 or 4 s8), or 64
/// bytes of f16. a holds the same K values a row, in the operand's dtype; rows lie a_stride bytes apart.
struct Block {
  const std::byte* a = nullptr;
  std::int64_t a_stride = 0;         ///< bytes
  const std::byte* panel = nullptr;  ///< 64-byte aligned
  std::int64_t groups = 0;
  std::byte* c = nullptr;  ///< f32, or s32 for 8-bit operands; rows of 32, one behind the other, 64-byte aligned
  Sums sums = Sums::start;
  Ahead ahead = {};
  std::int64_t half_stride = 0;  ///< bytes; of panels whose halves lie apart
};

using Multiply = void (*)(const Block& block, int rows);

/// The most rows that a vector kernel takes at a time: 24 accumulators.
constexpr int vector_rows = 12;

void multiply_f32(const Block& block, int rows);   ///< AVX-512. rows <= vector_rows
void multiply_bf16(const Block& block, int rows);  ///< AVX512-BF16: vdpbf16ps. rows <= vector_rows
void multiply_u8s8(const Block& block, int rows);  ///< AVX512-VNNI: vpdpbusd, a unsigned. rows <= vector_rows
/// AVX512-FP16: vfmadd231ph. Sums of one call are kept in f16 and then added to c. rows <= vector_rows
void multiply_f16(const Block& block, int rows);
void multiply_bf16_tiles(const Block& block, int rows);  ///< AMX-BF16: tdpbf16ps. Any number of rows
void multiply_s8_tiles(const Block& block, int rows);    ///< AMX-INT8: tdpbssd, both signed. Any number of rows

/// AVX2 with FMA. rows <= avx2_rows
constexpr int avx2_rows = 6;
void multiply_f32_avx2(const Block& block, int rows);
/// The same sums of factors that are packed for it. Rows of a lie interleaved: one group of avx2_rows rows behind the
/// other, and the next rows a_stride bytes on. The panel's halves of 16 outputs lie half_stride bytes apart, in groups
/// of 64 bytes. So each is one stream, and while half a panel stays in the first cache (256 groups take 16 KiB of it)
/// all rows pass by. rows <= avx2_strip_rows
constexpr int avx2_strip_rows = 96;
void multiply_f32_strip_avx2(const Block& block, int rows);

/// AVX2: vpmaddubsw and vpmaddwd, both signed and neither -128. rows <= avx2_rows_s8
constexpr int avx2_rows_s8 = 4;
void multiply_s8_avx2(const Block& block, int rows);
/// AVX2: vpmaddwd of s8 that lie in 16 bits each, two a group, on both sides; sums are s32. On Zen 3 a seventh faster
/// than the one before, once panels are widened. rows <= avx2_rows
void multiply_s16_avx2(const Block& block, int rows);

/// AVX-VNNI: vpdpbusd, a unsigned, in the registers of AVX2. rows <= avx2_rows
void multiply_u8s8_avx_vnni(const Block& block, int rows);

/// Loops for one to four rows (decoding), made for memory's speed: c = a times a whole panel as it is stored, `groups`
/// of its groups; sums start at zero and `ahead` is not heeded. a is f32 where nothing else is said, whatever the panel
/// holds. AVX-512, or AVX2 with FMA and F16C, up to two rows, where the name says so.
constexpr int few_rows = 4;
constexpr int few_rows_avx2 = 2;
void multiply_few_f32(const Block& block, int rows);
void multiply_few_bf16(const Block& block, int rows);
void multiply_few_f16(const Block& block, int rows);
void multiply_few_s8(const Block& block, int rows);
void multiply_few_s8_bf16(const Block& block, int rows);  ///< AVX512-BF16. a is bf16
void multiply_few_f32_avx2(const Block& block, int rows);
void multiply_few_bf16_avx2(const Block& block, int rows);
void multiply_few_f16_avx2(const Block& block, int rows);
void multiply_few_s8_avx2(const Block& block, int rows);
void multiply_few_s8s8_avx2(const Block& block, int rows);  ///< a is s8 too, the sums are s32

/// Rewrites a stretch of a panel in the operand's dtype: `groups` groups as stored, front to back. AVX-512, or AVX2
/// with F16C where the name says so.
using Widen = void (*)(const std::byte* panel, std::int64_t groups, std::byte* wide);

void f16_to_f32(const std::byte* panel, std::int64_t groups, std::byte* wide);    ///< groups of 1 to groups of 1
void bf16_to_f32(const std::byte* panel, std::int64_t groups, std::byte* wide);   ///< pairs to groups of 1
void s8_to_f32(const std::byte* panel, std::int64_t groups, std::byte* wide);     ///< quads to groups of 1
void s8_to_bf16(const std::byte* panel, std::int64_t groups, std::byte* wide);    ///< quads to pairs; exact
void e4m3_to_f32(const std::byte* panel, std::int64_t groups, std::byte* wide);   ///< quads to groups of 1
void e4m3_to_bf16(const std::byte* panel, std::int64_t groups, std::byte* wide);  ///< quads to pairs; exact
void f16_to_f32_avx2(const std::byte* panel, std::int64_t groups, std::byte* wide);
void bf16_to_f32_avx2(const std::byte* panel, std::int64_t groups, std::byte* wide);
void s8_to_f32_avx2(const std::byte* panel, std::int64_t groups, std::byte* wide);
void e4m3_to_f32_avx2(const std::byte* panel, std::int64_t groups, std::byte* wide);
void s8_to_s16_avx2(const std::byte* panel, std::int64_t groups, std::byte* wide);  ///< quads to pairs, without F16C

/// The same of a panel of blocks: `blocks` blocks of each of its rows, as stored.
using WidenBlocks = void (*)(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide);

void blocks_to_f32(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide);
/// AVX512-BF16. Rounded to nearest, subnormals to zero.
void blocks_to_bf16(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide);
void blocks_to_f32_avx2(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide);

}  // namespace assay::cpu::micro
