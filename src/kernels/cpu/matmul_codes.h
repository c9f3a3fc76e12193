#pragma once

#include "kernels/cpu/matmul.h"
#include "kernels/cpu/stripe_matmul.h"

/// The ways to multiply that are ours. Each needs the instruction set that its description names.
namespace assay::cpu::codes {

MatmulCode f32();
MatmulCode bf16_dot_products();
MatmulCode bf16_tiles();
MatmulCode vnni();
MatmulCode avx_vnni();
MatmulCode s8_tiles();
MatmulCode s8_avx2();
/// Faster for many rows: panels are widened to 16 bits first, which pays from some tens of rows on.
MatmulCode s8_avx2_in_16_bits();
/// f16 products and sums; sums go to f32 after `chunk` products, 0: after all of them.
MatmulCode f16_chunks(std::int64_t in, int chunk);

/// The same products from weights that are stored in `stored` and widened panel by panel: f16, bf16, s8 or e4m3 to f32.
MatmulCode f32_from(DType stored);
/// Both in the registers of AVX2.
MatmulCode f32_avx2();
MatmulCode f32_from_avx2(DType stored);
/// For products that pack both factors as they run, of f32 or what is widened then: many rows pass by each half of a
/// panel while it stays in the first cache.
MatmulCode f32_strips_avx2(DType stored = DType::f32);
/// s8 or e4m3 weights to bf16, which holds them exactly.
MatmulCode bf16_dot_products_from(DType stored);
MatmulCode bf16_tiles_from(DType stored);

/// `code`, one that has a block_widening (f32 or bf16, of whatever registers), by weights that are stored in blocks.
MatmulCode from_blocks(MatmulCode code, const BlockFormat& format);

/// Straight from stripes: integers for any number of rows, floats for few.
StripeCode stripes_vnni();
StripeCode stripes_avx_vnni();
StripeCode stripes_maddubs();
StripeCode stripes_f32(const StripeLayout& layout);
StripeCode stripes_f32_avx2();     ///< Of codes of 8 bits.
StripeCode stripes_pieces_avx2();  ///< Of codes of 4 bits: floats as integers of three bytes.
/// From blocks that are not re-laid, in AVX2's registers, for few rows.
StripeCode small_codes();
StripeCode small_codes_pieces();
StripeCode stripes_bf16();  ///< Of codes of 4 bits.

}  // namespace assay::cpu::codes
