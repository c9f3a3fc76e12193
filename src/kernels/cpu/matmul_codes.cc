#include "kernels/cpu/matmul_codes.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/cpu/micro/stripes.h"

namespace assay::cpu::codes {
namespace {

// A long chunk of a panel (128 KiB) and of a block of rows share the second cache. Widened panels stay in the first one
// as f32 or bf16, and so do the panels of tiles, which are loaded once for every 32 rows.
constexpr std::int64_t long_chunk_groups = 1024;
constexpr std::int64_t widened_groups = 256;
constexpr std::int64_t tile_chunk_groups = 128;
constexpr int tile_rows_at_once = 256;

/// The same code with its panels widened from another dtype first. A chunk is whole groups of both.
MatmulCode widened(MatmulCode code, DType stored, micro::Widen widen, const char* description) {
  code.description = description;
  code.chunk = std::min(code.chunk, widened_groups * code.group);
  code.packing = panels_of(stored);
  code.widen = widen;
  return code;
}

}  // namespace

MatmulCode f32() {
  return {.description = "avx512 f32",
          .operand = DType::f32,
          .sums = DType::f32,
          .accumulator = DType::f32,
          .group = 1,
          .multiply = micro::multiply_f32,
          .block_rows = micro::vector_rows,
          .chunk = long_chunk_groups,
          .packing = panels_of(DType::f32),
          .widen = nullptr,
          .block_widening = {micro::blocks_to_f32, micro::stripes_to_f32}};
}

MatmulCode bf16_dot_products() {
  return {.description = "avx512 bf16 dot products",
          .operand = DType::bf16,
          .sums = DType::f32,
          .accumulator = DType::f32,
          .group = 2,
          .multiply = micro::multiply_bf16,
          .block_rows = micro::vector_rows,
          .chunk = long_chunk_groups * 2,
          .packing = panels_of(DType::bf16),
          .widen = nullptr,
          .block_widening = {micro::blocks_to_bf16, micro::stripes_to_bf16}};
}

MatmulCode bf16_tiles() {
  MatmulCode code = bf16_dot_products();
  code.description = "amx bf16 tiles";
  code.multiply = micro::multiply_bf16_tiles;
  code.block_rows = tile_rows_at_once;
  code.chunk = tile_chunk_groups * 2;
  return code;
}

MatmulCode vnni() {
  return {.description = "avx512 vnni u8 x s8",
          .operand = DType::u8,
          .sums = DType::s32,
          .accumulator = DType::s32,
          .group = 4,
          .multiply = micro::multiply_u8s8,
          .block_rows = micro::vector_rows,
          .chunk = long_chunk_groups * 4,
          .packing = panels_of(DType::s8),
          .widen = nullptr};
}

MatmulCode avx_vnni() {
  MatmulCode code = vnni();
  code.description = "avx-vnni u8 x s8";
  code.multiply = micro::multiply_u8s8_avx_vnni;
  code.block_rows = micro::avx2_rows;
  code.chunk = widened_groups * code.group;  // as f32_avx2's
  return code;
}

MatmulCode s8_tiles() {
  MatmulCode code = vnni();
  code.description = "amx s8 tiles";
  code.operand = DType::s8;
  code.multiply = micro::multiply_s8_tiles;
  code.block_rows = tile_rows_at_once;
  code.chunk = tile_chunk_groups * 4;
  return code;
}

MatmulCode s8_avx2() {
  MatmulCode code = vnni();
  code.description = "avx2 s8 in pairs";
  code.operand = DType::s8;
  code.multiply = micro::multiply_s8_avx2;
  code.block_rows = micro::avx2_rows_s8;
  code.chunk = widened_groups * code.group;  // as f32_avx2's
  return code;
}

MatmulCode s8_avx2_in_16_bits() {
  MatmulCode code = s8_avx2();
  code.description = "avx2 s8 as pairs of 16 bits";
  code.group = 2;
  code.multiply = micro::multiply_s16_avx2;
  code.block_rows = micro::avx2_rows;
  code.lies_in = 2;
  code.chunk = widened_groups * code.group;
  code.widen = micro::s8_to_s16_avx2;
  return code;
}

MatmulCode f16_chunks(std::int64_t in, int chunk) {
  return {.description = "avx512 fp16, flushed to f32 by chunks",
          .operand = DType::f16,
          .sums = DType::f32,
          .accumulator = DType::f16,
          .group = 1,
          .multiply = micro::multiply_f16,
          .block_rows = micro::vector_rows,
          .chunk = chunk > 0 ? chunk : std::max<std::int64_t>(in, 1),
          .packing = panels_of(DType::f16),
          .widen = nullptr};
}

MatmulCode f32_from(DType stored) {
  if (stored == DType::f16) return widened(f32(), stored, micro::f16_to_f32, "avx512 f32 from f16");
  if (stored == DType::bf16) return widened(f32(), stored, micro::bf16_to_f32, "avx512 f32 from bf16");
  if (stored == DType::e4m3) return widened(f32(), stored, micro::e4m3_to_f32, "avx512 f32 from e4m3");
  return widened(f32(), stored, micro::s8_to_f32, "avx512 f32 from s8");
}

MatmulCode f32_avx2() {
  MatmulCode code = f32();
  code.description = "avx2 f32";
  code.multiply = micro::multiply_f32_avx2;
  code.block_rows = micro::avx2_rows;
  code.chunk = widened_groups;  // each half of a panel passes once for 6 rows: it has to stay near
  code.block_widening = {micro::blocks_to_f32_avx2, micro::stripes_to_f32_avx2};
  return code;
}

MatmulCode f32_from_avx2(DType stored) {
  const MatmulCode code = f32_avx2();
  if (stored == DType::f16) return widened(code, stored, micro::f16_to_f32_avx2, "avx2 f32 from f16");
  if (stored == DType::bf16) return widened(code, stored, micro::bf16_to_f32_avx2, "avx2 f32 from bf16");
  if (stored == DType::e4m3) return widened(code, stored, micro::e4m3_to_f32_avx2, "avx2 f32 from e4m3");
  return widened(code, stored, micro::s8_to_f32_avx2, "avx2 f32 from s8");
}

MatmulCode f32_strips_avx2(DType stored) {
  MatmulCode code = stored == DType::f32 ? f32_avx2() : f32_from_avx2(stored);
  code.multiply = micro::multiply_f32_strip_avx2;
  code.block_rows = micro::avx2_strip_rows;
  code.packed_width = micro::panel_width / 2;
  return code;
}

MatmulCode bf16_dot_products_from(DType stored) {
  const MatmulCode code = bf16_dot_products();
  if (stored == DType::e4m3) return widened(code, stored, micro::e4m3_to_bf16, "avx512 bf16 dot products from e4m3");
  return widened(code, stored, micro::s8_to_bf16, "avx512 bf16 dot products from s8");
}

MatmulCode bf16_tiles_from(DType stored) {
  const MatmulCode code = bf16_tiles();
  if (stored == DType::e4m3) return widened(code, stored, micro::e4m3_to_bf16, "amx bf16 tiles from e4m3");
  return widened(code, stored, micro::s8_to_bf16, "amx bf16 tiles from s8");
}

MatmulCode from_blocks(MatmulCode code, const BlockFormat& format) {
  const BlockWidening& widening = code.block_widening;
  code.widen_blocks = stripe_layout(format).has_value() ? widening.of_stripes : widening.of_blocks;
  ASSAY_ASSERT(code.widen_blocks != nullptr);
  code.chunk = std::min(code.chunk, widened_groups * code.group);
  code.packing = panels_of(format);
  code.blocks = &format;
  return code;
}

StripeCode stripes_vnni() {
  return {"avx512 vnni u8 x s8",     DType::s8, DType::s32, micro::StripeRows::s8, micro::multiply_stripes_vnni,
          micro::integer_stripe_rows};
}

StripeCode stripes_avx_vnni() {
  return {"avx-vnni u8 x s8",
          DType::s8,
          DType::s32,
          micro::StripeRows::s8,
          micro::multiply_stripes_avx_vnni,
          micro::integer_stripe_rows_avx2};
}

StripeCode stripes_maddubs() {
  return {"avx2 u8 x s8 in pairs",        DType::s8, DType::s32, micro::StripeRows::s8, micro::multiply_stripes_maddubs,
          micro::integer_stripe_rows_avx2};
}

StripeCode stripes_f32(const StripeLayout& layout) {
  const auto order = layout.bits == 4 ? micro::StripeRows::f32_halves : micro::StripeRows::f32;
  return {"avx512 f32 of few rows", DType::f32, DType::f32, order, micro::multiply_stripes_f32,
          micro::float_stripe_rows};
}

StripeCode stripes_f32_avx2() {
  return {
      "avx2 f32 of few rows",       DType::f32, DType::f32, micro::StripeRows::f32, micro::multiply_stripes_f32_avx2,
      micro::float_stripe_rows_avx2};
}

StripeCode stripes_pieces_avx2() {
  return {.description = "avx2 f32 of few rows as three bytes each",
          .operand = DType::f32,
          .accumulator = DType::s32,
          .rows = micro::StripeRows::three_bytes,
          .multiply = micro::multiply_stripes_pieces_avx2,
          .block_rows = micro::float_stripe_rows_avx2};
}

StripeCode small_codes() {
  return {.description = "avx2 u8 x s8 in pairs, few rows, blocks as they are",
          .operand = DType::s8,
          .accumulator = DType::s32,
          .rows = micro::StripeRows::s8_by_part,
          .multiply = micro::multiply_small_codes_avx2,
          .block_rows = micro::small_code_rows,
          .reads_blocks = true};
}

StripeCode small_codes_pieces() {
  return {.description = "avx2 f32 of few rows as three bytes each, blocks as they are",
          .operand = DType::f32,
          .accumulator = DType::s32,
          .rows = micro::StripeRows::three_bytes,
          .multiply = micro::multiply_small_codes_pieces_avx2,
          .block_rows = micro::small_code_rows,
          .reads_blocks = true};
}

StripeCode stripes_bf16() {
  return {"avx512 bf16 dot products of few rows",
          DType::bf16,
          DType::f32,
          micro::StripeRows::bf16_pairs,
          micro::multiply_stripes_bf16,
          micro::float_stripe_rows};
}

}  // namespace assay::cpu::codes
