// Included once for each instruction set, by each file that Highway compiles for several.
#if defined(ASSAY_KERNELS_CPU_ATTENTION_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_CPU_ATTENTION_SUMS_INL_H_
#undef ASSAY_KERNELS_CPU_ATTENTION_SUMS_INL_H_
#else
#define ASSAY_KERNELS_CPU_ATTENTION_SUMS_INL_H_
#endif

#include "kernels/cpu/attention_gradient_work.h"
#include "kernels/cpu/attention_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// Sums over queries, z = m^T x for a matrix m of queries by keys, computed as z^T = x^T m: then the matrix that the
// scores became is the panel, as it stands, and only the few columns of x are transposed.

/// Rows 2 i and 2 i + 1 of `rows` rows of 16 bits side by side in 32-bit lanes: (rows / 2, width); width is a multiple
/// of 32. The partner of an odd last row is zeros.
inline void pair_all(std::byte* from, std::int64_t stride, std::int64_t rows, std::int64_t width, std::byte* to) {
  if (rows % 2 != 0) std::memset(from + rows * stride, 0, static_cast<std::size_t>(stride));
  for (std::int64_t row = 0; row < rows; row += 2) {
    pair_rows<DType::bf16>(from + row * stride, from + (row + 1) * stride, to + row / 2 * width * group_bytes, width);
  }
}

/// What load_queries left of `rows` queries, as (head_dim, query_block) in the product's dtype.
inline void transpose_queries(const GradientWork& work, const AttentionWork& of, std::int64_t rows,
                              std::byte* scratch) {
  const std::int64_t groups = of.product.groups(of.attributes.head_dim);
  const std::int64_t dims = round_up(of.attributes.head_dim, panel);
  std::byte* queries = scratch + of.scratch.rows;
  std::byte* pairs = scratch + work.pairs;
  auto* out = reinterpret_cast<float*>(scratch + work.transposed);
  if (of.product.operand == DType::f32)
    return transpose_groups(reinterpret_cast<const float*>(queries), query_block, groups, out);
  pair_all(queries, groups * group_bytes, rows, dims, pairs);
  transpose_groups(reinterpret_cast<const float*>(pairs), query_block / 2, dims, out);
}

/// f32 (rows, 32) as a panel of the product's dtype.
inline const std::byte* panel_of(const GradientWork& work, std::byte* matrix, std::int64_t rows, std::byte* scratch) {
  if (work.scores.product.operand == DType::f32) return matrix;
  std::byte* pairs = scratch + work.pairs;
  std::byte* narrow = pairs + query_block * panel * 2;
  for (std::int64_t row = 0; row < rows; ++row)
    load_row(work.scores.product, {matrix + row * panel * 4, DType::f32}, panel, narrow + row * panel * 2);
  pair_all(narrow, panel * 2, rows, panel, pairs);
  return pairs;
}

/// sums += x^T m, for the `rows` queries x in work.transposed and the matrix m (panels of keys, query_block, 32).
inline void add_to_sums(const GradientWork& work, const KeySums& sums, std::int64_t rows, const RealKeys& keys,
                        std::byte* matrix, std::byte* scratch) {
  const AttentionProduct& product = work.scores.product;
  for (std::int64_t first = keys.begin / panel * panel; first < keys.end; first += panel) {
    multiply_block(product,
                   {.a = scratch + work.transposed,
                    .a_stride = product.groups(query_block) * group_bytes,
                    .panel = panel_of(work, matrix, rows, scratch),
                    .groups = product.groups(rows),
                    .c = scratch + sums.offset + first * work.padded_dims() * 4,
                    .sums = micro::Sums::go_on},
                   work.scores.attributes.head_dim);
    matrix += query_block * panel * 4;
  }
}

/// The sums of a key head to their rows.
inline void store_sums(const GradientWork& work, const KeySums& sums, std::int64_t key_head, std::byte* scratch) {
  if (sums.to.data == nullptr) return;
  const std::int64_t head_dim = work.scores.attributes.head_dim;
  const std::int64_t first_row = key_head / work.scores.attributes.kv_heads * work.scores.seq;
  const std::int64_t column = key_head % work.scores.attributes.kv_heads * head_dim;
  const auto* from = reinterpret_cast<const float*>(scratch + sums.offset);
  auto* rows = reinterpret_cast<float*>(scratch + work.transposed);
  const V32 factors = hn::Set(f32_lanes, sums.factor);
  for (std::int64_t first = 0; first < work.scores.seq; first += panel) {
    transpose_groups(from + first * work.padded_dims(), work.padded_dims(), panel, rows);
    for (std::int64_t i = 0; i < std::min(panel, work.scores.seq - first); ++i) {
      const Sink to = shifted(sums.to[first_row + first + i], column);
      const Source row = source_of(rows + i * work.padded_dims());
      for_vectors(head_dim,
                  [&](auto lanes, std::int64_t j) HWY_ATTR { lanes.put(hn::Mul(lanes.get(row, j), factors), to, j); });
    }
  }
}

/// The sums of a key head's slices, which stand in the scratch of as many parts, into those of the first.
inline void add_slices(const GradientWork& work, const KeySums& sums, std::byte* first) {
  auto* to = reinterpret_cast<float*>(first + sums.offset);
  for (std::int64_t slice = 1; slice < work.slices; ++slice) {
    const Source from = {first + slice * work.scratch_bytes + sums.offset, DType::f32};
    for_vectors(work.sums_bytes() / 4, [&](auto lanes, std::int64_t i) HWY_ATTR {
      lanes.put(hn::Add(lanes.get(source_of(to), i), lanes.get(from, i)), sink_of(to), i);
    });
  }
}

/// Adds up and stores what the slices of key heads [begin, end) left in the workspace.
inline void store_slices(const GradientWork& work, std::int64_t begin, std::int64_t end, std::byte* workspace) {
  for (std::int64_t key_head = begin; key_head < end; ++key_head) {
    std::byte* first = workspace + key_head * work.slices * work.scratch_bytes;
    for (const KeySums* sums : {&work.dk, &work.dv}) {
      if (sums->to.data == nullptr) continue;
      add_slices(work, *sums, first);
      store_sums(work, *sums, key_head, first);
    }
  }
}

/// block(item) for each block of queries of a unit, with sums that start at zero and are stored at its end.
template <typename Block>
HWY_INLINE void run_unit(const GradientWork& work, std::int64_t unit, std::byte* scratch, Block&& block) {
  const AttentionWork& scores = work.scores;
  const std::int64_t key_head = unit / work.slices;
  const std::int64_t first_head = key_head * scores.group_heads();
  for (const KeySums* sums : {&work.dk, &work.dv})
    std::memset(scratch + sums->offset, 0, static_cast<std::size_t>(work.sums_bytes()));
  for (std::int64_t head = first_head; head < first_head + scores.group_heads(); ++head) {
    for (std::int64_t i = unit % work.slices; i < scores.blocks(); i += work.slices)
      block(AttentionItem(scores, head * scores.blocks() + i));
  }
  if (work.slices > 1) return;
  store_sums(work, work.dk, key_head, scratch);
  store_sums(work, work.dv, key_head, scratch);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_KERNELS_CPU_ATTENTION_SUMS_INL_H_
