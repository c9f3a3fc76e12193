#pragma once

#include "kernels/cpu/matmul.h"

namespace assay::cpu {

/// Loops for one to four rows of x, as decoding has them: weights pass once, at memory's speed, and are widened in
/// registers; `multiply` takes whole panels as they are stored.
namespace codes {

/// By weights in f32, f16, bf16 or s8, products in f32; with the registers of AVX-512 or of AVX2.
MatmulCode few_f32(DType stored);
MatmulCode few_f32_avx2(DType stored);
MatmulCode few_bf16_dot_products();
MatmulCode few_bf16_dot_products_from_s8();
MatmulCode few_vnni();
/// s8 by s8, exact, with the registers of AVX2.
MatmulCode few_avx_vnni();
MatmulCode few_s8_avx2();

}  // namespace codes

/// A kernel that runs such a code. Every thread reads a stretch of neighbouring panels and copies rows that need it for
/// itself: nobody waits before the end. Declines more rows, and what prepare_matmul declines.
Offer prepare_few_rows(const LinearCall& call, const MachineFacts& facts, const MatmulCode& code);

}  // namespace assay::cpu
