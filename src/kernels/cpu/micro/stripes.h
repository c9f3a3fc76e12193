#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/micro/block.h"
#include "kernels/stripes.h"

/// Inner loops over re-laid stripes (kernels/stripes.h): codes are taken apart in registers, straight from the panel,
/// and every 32 inputs have a sum of their own, which meets its scale once.
namespace assay::cpu::micro {

/// A format's layout, as loops ask for it.
struct StripeShape {
  StripeLayout layout;
  std::int64_t stretches = 0;     ///< Of 32 inputs, in a block.
  std::int64_t groups = 0;        ///< Of six_bits scales, in a block.
  std::int64_t zero_at = 0;       ///< Byte of a stripe.
  std::int64_t header_bytes = 0;  ///< Before its codes.
  std::int64_t bytes = 0;         ///< Of a stripe.

  /// Whether a stretch's sum meets more than its scale.
  bool has_offset() const { return layout.has_zero || layout.has_minimum(); }
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
  const std::int32_t* starts = nullptr;  ///< Integers: -zero times the sum of the stretch's codes.
  std::int64_t side_stride = 0;
  float* c = nullptr;  ///< 64-byte aligned, rows of 32.
};

/// How rows of x lie for a loop, stretch by stretch.
enum class StripeRows : std::uint8_t {
  s8,          ///< As they are.
  f32,         ///< As they are.
  f32_halves,  ///< Of each eight inputs 0 4 1 5 2 6 3 7: low and high halves of the bytes of a code vector.
  bf16_pairs   ///< Of each eight inputs (0 2) (4 6) (1 3) (5 7): what stands in the 16-bit halves of its lanes.
};

using MultiplyStripes = void (*)(const StripeBlock& block, int rows);

constexpr int integer_stripe_rows = 6;  ///< The most rows of a call: 12 sums of integers and 12 of f32.
constexpr int float_stripe_rows = 4;
constexpr int integer_stripe_rows_avx2 = 6;
constexpr int float_stripe_rows_avx2 = 2;

// Codes of 4 or 8 bits. `integers`: x is s8, products and sums of a stretch are exact.
void multiply_stripes_vnni(const StripeBlock& block, int rows);  ///< AVX512-VNNI: vpdpbusd. s8
void multiply_stripes_f32(const StripeBlock& block, int rows);   ///< AVX-512. 4 bits: f32_halves, 8: f32
void multiply_stripes_bf16(const StripeBlock& block, int rows);  ///< AVX512-BF16: vdpbf16ps. 4 bits alone, bf16_pairs
void multiply_stripes_maddubs(const StripeBlock& block, int rows);  ///< AVX2. s8
void multiply_stripes_avx_vnni(const StripeBlock& block,
                               int rows);  ///< AVX2 and AVX-VNNI. s8; integer_stripe_rows_avx2
void multiply_stripes_f32_avx2(const StripeBlock& block, int rows);  ///< AVX2 with FMA. f32

/// WidenBlocks of re-laid stripes.
void stripes_to_f32(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide);
void stripes_to_bf16(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide);
void stripes_to_f32_avx2(const BlockFormat& format, const std::byte* panel, std::int64_t blocks, std::byte* wide);

}  // namespace assay::cpu::micro
