// Included once for each instruction set, by each file that Highway compiles for several.
#if defined(ASSAY_KERNELS_CPU_ATTENTION_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_CPU_ATTENTION_TILES_INL_H_
#undef ASSAY_KERNELS_CPU_ATTENTION_TILES_INL_H_
#else
#define ASSAY_KERNELS_CPU_ATTENTION_TILES_INL_H_
#endif

#include <utility>

#include "kernels/cpu/attention_work.h"
#include "kernels/cpu/pair_rows-inl.h"
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// ---- Products of rows with a panel, for machines without a micro-kernel: f32 only.

HWY_INLINE void multiply_add(V32& left, V32& right, float a, V32 b_left, V32 b_right) {
  const V32 factor = hn::Set(f32_lanes, a);
  left = hn::MulAdd(factor, b_left, left);
  right = hn::MulAdd(factor, b_right, right);
}

HWY_INLINE V32 first_sum(const micro::Block& block, const float* c) {
  return block.sums == micro::Sums::start ? hn::Zero(f32_lanes) : hn::LoadU(f32_lanes, c);
}

/// c (rows, 2 vectors) = a times two vectors' columns of a panel, or that is added to c.
template <std::size_t... row>
HWY_INLINE void multiply_columns(const micro::Block& block, std::int64_t column, std::index_sequence<row...>) {
  const float* a[] = {reinterpret_cast<const float*>(block.a + static_cast<std::int64_t>(row) * block.a_stride)...};
  const float* b = reinterpret_cast<const float*>(block.panel) + column;
  auto* c = reinterpret_cast<float*>(block.c) + column;
  V32 left[] = {first_sum(block, c + static_cast<std::int64_t>(row) * panel)...};
  V32 right[] = {first_sum(block, c + static_cast<std::int64_t>(row) * panel + lane_count())...};
  for (std::int64_t k = 0; k < block.groups; ++k) {
    const V32 b_left = hn::LoadU(f32_lanes, b + k * panel);
    const V32 b_right = hn::LoadU(f32_lanes, b + k * panel + lane_count());
    (multiply_add(left[row], right[row], a[row][k], b_left, b_right), ...);
  }
  (hn::StoreU(left[row], f32_lanes, c + static_cast<std::int64_t>(row) * panel), ...);
  (hn::StoreU(right[row], f32_lanes, c + static_cast<std::int64_t>(row) * panel + lane_count()), ...);
}

template <std::size_t rows>
void multiply_rows(const micro::Block& block) {
  for (std::int64_t column = 0; column < panel; column += 2 * lane_count())
    multiply_columns(block, column, std::make_index_sequence<rows>());
}

/// As micro::Multiply, in the chosen vectors. Four rows at a time: AVX2 has 16 registers.
inline void multiply_vectors_f32(const micro::Block& block, int rows) {
  micro::Block rest = block;
  for (; rows >= 4; rows -= 4) {
    multiply_rows<4>(rest);
    rest.a += 4 * rest.a_stride;
    rest.c += 4 * panel * 4;
  }
  for (; rows > 0; --rows) {
    multiply_rows<1>(rest);
    rest.a += rest.a_stride;
    rest.c += panel * 4;
  }
}

/// c (rows, 32) = a (rows, groups) times a panel, any number of rows.
inline void multiply_block(const AttentionProduct& product, micro::Block block, std::int64_t rows) {
  if (product.multiply == nullptr) return multiply_vectors_f32(block, static_cast<int>(rows));
  const std::int64_t step = product.rows_at_once;
  for (std::int64_t row = 0; row < rows; row += step) {
    product.multiply(block, static_cast<int>(std::min(step, rows - row)));
    block.a += step * block.a_stride;
    block.c += step * panel * 4;
  }
}

// ---- Rows of a head in the operand's dtype, and panels of them.

/// `width` elements times `scale` in the product's dtype, padded with zeros to whole groups; a scale other than 1 is
/// for codes alone.
HWY_INLINE void load_row(const AttentionProduct& product, Source from, std::int64_t width, std::byte* to,
                         float scale = 1) {
  const bool bf16_operand = product.operand == DType::bf16;
  if (bf16_operand && width % 2 != 0) std::memset(to + width * 2, 0, 2);
  if (from.dtype == product.operand) {
    std::memcpy(to, from.data, static_cast<std::size_t>(width * bytes_of(from.dtype)));
    return;
  }
  const Sink sink = {to, product.operand};
  const V32 scales = hn::Set(f32_lanes, scale);
  for_vectors(width,
              [&](auto lanes, std::int64_t i) HWY_ATTR { lanes.put(hn::Mul(lanes.get(from, i), scales), sink, i); });
}

/// `count` rows of `groups` 4-byte groups turned into (groups, count); count is a multiple of 4. 32 rows give a panel.
HWY_INLINE void transpose_groups(const float* rows, std::int64_t count, std::int64_t groups, float* out) {
  const std::int64_t step = lane_count();
  HWY_ALIGN float quads[4 * HWY_MAX_BYTES / sizeof(float)];
  const std::int64_t vectors_end = groups / step * step;
  for (std::int64_t row = 0; row < count; row += 4) {
    const float* from = rows + row * groups;
    for (std::int64_t g = 0; g < vectors_end; g += step) {
      hn::StoreInterleaved4(hn::LoadU(f32_lanes, from + g), hn::LoadU(f32_lanes, from + groups + g),
                            hn::LoadU(f32_lanes, from + 2 * groups + g), hn::LoadU(f32_lanes, from + 3 * groups + g),
                            f32_lanes, quads);
      for (std::int64_t i = 0; i < step; ++i) std::memcpy(out + (g + i) * count + row, quads + 4 * i, 16);
    }
    for (std::int64_t g = vectors_end; g < groups; ++g) {
      for (std::int64_t i = 0; i < 4; ++i) std::memcpy(out + g * count + row + i, from + i * groups + g, 4);
    }
  }
}

/// Keys [begin, end) of a head, from the panel that holds `begin` to the one that holds the last.
inline void pack_keys(const AttentionWork& work, const KeyHead& k, const RealKeys& keys, std::byte* scratch) {
  const std::int64_t groups = work.product.groups(work.attributes.head_dim);
  const std::int64_t row_bytes = groups * group_bytes;
  std::byte* rows = scratch + work.scratch.rows;
  for (std::int64_t first = keys.begin / panel * panel; first < keys.end; first += panel) {
    for (std::int64_t i = 0; i < panel; ++i) {
      std::byte* row = rows + i * row_bytes;
      if (first + i < keys.end)
        load_row(work.product, k[first + i], work.attributes.head_dim, row, k.scale(first + i));
      else
        std::memset(row, 0, static_cast<std::size_t>(row_bytes));
    }
    transpose_groups(reinterpret_cast<const float*>(rows), panel, groups,
                     reinterpret_cast<float*>(scratch + work.scratch.keys + first * row_bytes));
  }
}

/// Dimensions [first, first + width) of a key head's values.
struct ValueColumns {
  const KeyHead& of;
  std::int64_t first;
  std::int64_t width;

  HWY_INLINE Source operator[](std::int64_t key) const { return shifted(of[key], first); }
};

/// One group of keys from `key` on into a panel of dimensions. What is beyond the width or behind the last key becomes
/// 0.
HWY_INLINE void pack_value_group(const AttentionWork& work, const ValueColumns& v, std::int64_t key, std::int64_t end,
                                 std::byte* out) {
  const bool as_it_stands = v.of.rows.dtype == work.product.operand && v.width == panel;
  if (as_it_stands && work.product.operand == DType::f32) {
    std::memcpy(out, v[key].data, panel * group_bytes);
    return;
  }
  if (as_it_stands && key + 1 < end) return pair_rows<DType::bf16>(v[key].data, v[key + 1].data, out, panel);
  HWY_ALIGN std::byte rows[2][panel * group_bytes] = {};
  for (std::int64_t i = 0; i < work.product.group(); ++i) {
    if (key + i < end) load_row(work.product, v[key + i], v.width, rows[i], v.of.scale(key + i));
  }
  if (work.product.operand == DType::f32) {
    std::memcpy(out, rows[0], panel * group_bytes);
  } else {
    pair_rows<DType::bf16>(rows[0], rows[1], out, panel);
  }
}

inline void pack_values(const AttentionWork& work, const KeyHead& v, const RealKeys& keys, std::byte* scratch) {
  const std::int64_t group = work.product.group();
  const std::int64_t panel_bytes = round_up(work.slots, panel) / group * panel * group_bytes;
  for (std::int64_t first = 0; first < work.attributes.head_dim; first += panel) {
    std::byte* out = scratch + work.scratch.values + first / panel * panel_bytes;
    const ValueColumns columns = {v, first, std::min(panel, work.attributes.head_dim - first)};
    for (std::int64_t key = keys.begin / panel * panel; key < keys.end; key += group)
      pack_value_group(work, columns, key, keys.end, out + key / group * panel * group_bytes);
  }
}

/// Queries [first, first + rows) of a head as the micro-kernel reads them.
inline void load_queries(const AttentionWork& work, std::int64_t first_row, std::int64_t column, std::int64_t rows,
                         std::byte* scratch) {
  const std::int64_t row_bytes = work.product.groups(work.attributes.head_dim) * group_bytes;
  for (std::int64_t i = 0; i < rows; ++i)
    load_row(work.product, shifted(work.q[first_row + i], column), work.attributes.head_dim,
             scratch + work.scratch.rows + i * row_bytes);
}

// ---- The three steps for a block of queries.

/// Scores with the keys of panels [begin, end) / 32, unscaled: (panels, rows, 32).
inline void multiply_keys(const AttentionWork& work, std::int64_t rows, const RealKeys& keys, std::byte* scratch) {
  const std::int64_t groups = work.product.groups(work.attributes.head_dim);
  std::byte* c = scratch + work.scratch.scores;
  for (std::int64_t first = keys.begin / panel * panel; first < keys.end; first += panel) {
    multiply_block(work.product,
                   {.a = scratch + work.scratch.rows,
                    .a_stride = groups * group_bytes,
                    .panel = scratch + work.scratch.keys + first * groups * group_bytes,
                    .groups = groups,
                    .c = c},
                   rows);
    c += query_block * panel * 4;
  }
}

/// Bytes of a row of probabilities.
HWY_INLINE std::int64_t probability_stride(const AttentionWork& work) {
  // 64 more, so that rows do not fall into the same sets of the cache.
  return round_up(work.slots, panel) * size_of(work.product.operand) + 64;
}

/// context (panels of dimensions, rows, 32) = probabilities times values, from the panel of keys.begin on.
inline void multiply_values(const AttentionWork& work, std::int64_t rows, const RealKeys& keys, std::byte* scratch) {
  const std::int64_t group = work.product.group();
  const std::int64_t base = keys.begin / panel * panel;
  const std::int64_t panel_bytes = round_up(work.slots, panel) / group * panel * group_bytes;
  const std::int64_t panels = round_up(work.attributes.head_dim, panel) / panel;
  for (std::int64_t i = 0; i < panels; ++i) {
    multiply_block(work.product,
                   {.a = scratch + work.scratch.probabilities,
                    .a_stride = probability_stride(work),
                    .panel = scratch + work.scratch.values + i * panel_bytes + base / group * panel * group_bytes,
                    .groups = work.product.groups(keys.end - base),
                    .c = scratch + work.scratch.context + i * query_block * panel * 4},
                   rows);
  }
}

/// One query's context times `factor` to its place.
HWY_INLINE void store_context(const AttentionWork& work, const float* context, float factor, Sink y) {
  const V32 factors = hn::Set(f32_lanes, factor);
  for (std::int64_t first = 0; first < work.attributes.head_dim; first += panel) {
    const Source from = source_of(context + first * query_block);
    for_vectors(std::min(panel, work.attributes.head_dim - first), [&](auto lanes, std::int64_t i) HWY_ATTR {
      lanes.put(hn::Mul(lanes.get(from, i), factors), y, first + i);
    });
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_KERNELS_CPU_ATTENTION_TILES_INL_H_
