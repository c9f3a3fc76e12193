#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/cpu/micro/block.h"
#include "kernels/stripes.h"

/// Inner loops over re-laid stripes (kernels/stripes.h): codes are taken apart in registers, straight from the panel,
/// and every 32 inputs have a sum of their own, which meets its scale once.
namespace assay::cpu::micro {

/// A format's layout, as loops ask for it.
struct StripeShape {
  StripeLayout layout;
  std::int64_t stretches = 0;           ///< Of 32 inputs, in a block.
  std::int64_t groups = 0;              ///< Of six_bits scales, in a block.
  std::int64_t zero_at = 0;             ///< Byte of a stripe.
  std::int64_t header_bytes = 0;        ///< Before its codes.
  std::int64_t bytes = 0;               ///< Of a stripe.
  const BlockFormat* format = nullptr;  ///< Of loops that read blocks as they are.
};
StripeShape stripe_shape(const BlockFormat& format, const StripeLayout& layout);

/// c (rows, 32) = x (rows, K) times a panel of stripes.
struct StripeBlock {
  const StripeShape& shape;
  const std::byte* panel = nullptr;
  std::int64_t stretches = 0;    ///< Of K; what fills up the last one is zero in x.
  const std::byte* x = nullptr;  ///< As the loop wants it, x_stride bytes between rows.
  std::int64_t x_stride = 0;
  /// Stretches of the panel that meet one of x. 2: the first has zeros for its second 16 inputs, the second for its
  /// first, since formats may have scales for 16.
  std::int64_t parts = 1;
  // By row and stretch of x, x_sums by part; side_stride (by parts) between rows.
  const float* x_scale = nullptr;        ///< Integers: that of the stretch.
  const float* x_sums = nullptr;         ///< Of the part's x, scaled; met by offsets.
  const std::int32_t* starts = nullptr;  ///< Integers: -zero times sums of x's codes; of what, the order of rows says.
  std::int64_t side_stride = 0;
  float* c = nullptr;  ///< 64-byte aligned, rows of 32.
};

/// How rows of x lie for a loop, stretch by stretch.
enum class StripeRows : std::uint8_t {
  s8,          ///< As they are. A start is of a stretch.
  s8_by_part,  ///< As they are. A start is of a part.
  f32,         ///< As they are.
  f32_halves,  ///< Of each eight inputs 0 4 1 5 2 6 3 7: low and high halves of the bytes of a code vector.
  bf16_pairs,  ///< Of each eight inputs (0 2) (4 6) (1 3) (5 7): what stands in the 16-bit halves of its lanes.
  three_bytes  ///< PiecesOfRow: floats as integers of three bytes. A part has two starts.
};

/// Floats as integers of 24 bits that share a power of two by stretch: x = x_scale (2^16 a + 2^8 b + c) with a, b and c
/// of s8, the largest magnitude in [2^21, 2^22]. That is exact for values of 16 bits that are at least 2^-11 (f16) or
/// 2^-14 (bf16) of their stretch's largest; of all others the error is at most 2^-22 of that largest, as errors of sums
/// in f32 are. (Where the largest is below 2^-105 it is 2^-127.) Products with codes and their sums are then exact.
///
/// A stretch is | a[32] | b[32] | c[32] |, and starts are of 2^8 a + b and of c.
constexpr std::int64_t pieces_of_float = 3;
constexpr std::int64_t pieces_bytes = pieces_of_float * stretch_values;
struct PiecesOfRow {
  std::byte* pieces;
  float* scales;         ///< By stretch.
  float* sums;           ///< By part, in x's units.
  std::int32_t* starts;  ///< Two by part.
  std::int64_t parts;    ///< Of a stretch: 1 or 2.
  int zero;              ///< Of the codes.
};
/// AVX2. A stretch with a value that is not finite gets the scale NaN.
void split_floats_avx2(const float* x, std::int64_t stretches, const PiecesOfRow& to);

using MultiplyStripes = void (*)(const StripeBlock& block, int rows);

constexpr int integer_stripe_rows = 6;  ///< The most rows of a call: 12 sums of integers and 12 of f32.
constexpr int float_stripe_rows = 4;
constexpr int integer_stripe_rows_avx2 = 6;
constexpr int float_stripe_rows_avx2 = 2;
constexpr int small_code_rows = 4;

// Codes of 4 or 8 bits. `integers`: x is s8, products and sums of a stretch are exact.
void multiply_stripes_vnni(const StripeBlock& block, int rows);  ///< AVX512-VNNI: vpdpbusd. s8
void multiply_stripes_f32(const StripeBlock& block, int rows);   ///< AVX-512. 4 bits: f32_halves, 8: f32
void multiply_stripes_bf16(const StripeBlock& block, int rows);  ///< AVX512-BF16: vdpbf16ps. 4 bits alone, bf16_pairs
void multiply_stripes_maddubs(const StripeBlock& block, int rows);  ///< AVX2. s8
void multiply_stripes_avx_vnni(const StripeBlock& block,
                               int rows);  ///< AVX2 and AVX-VNNI. s8; integer_stripe_rows_avx2
void multiply_stripes_f32_avx2(const StripeBlock& block, int rows);     ///< AVX2 with FMA. 8 bits alone, f32
void multiply_stripes_pieces_avx2(const StripeBlock& block, int rows);  ///< AVX2 with FMA. 4 bits alone, three_bytes

/// Of formats that are not re-laid and whose codes have six bits at most once this zero is added to them. Their blocks
/// are taken apart 8 rows at a time, on the way from memory to the sums.
std::optional<int> zero_of_small_codes(const BlockFormat& format);
void multiply_small_codes_avx2(const StripeBlock& block, int rows);         ///< AVX2 with FMA. s8_by_part
void multiply_small_codes_pieces_avx2(const StripeBlock& block, int rows);  ///< AVX2 with FMA. three_bytes

/// WidenBlocks of re-laid stripes.
void stripes_to_f32(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide);
void stripes_to_bf16(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide);
void stripes_to_f32_avx2(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide);

}  // namespace assay::cpu::micro
