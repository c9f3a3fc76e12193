#include "kernels/cpu/pack_block.h"

#include "kernels/cpu/targets.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pack_block.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/copy_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

constexpr std::int64_t item_bytes = 4;
constexpr std::int64_t items_together = 4;  ///< Rows and columns of one transposition: 16 bytes.
constexpr std::int64_t panel_row_bytes = micro::panel_width * item_bytes;

// 16 bytes, in the registers of every instruction set.
using Items = std::uint32_t __attribute__((vector_size(16)));
using Halves = std::uint16_t __attribute__((vector_size(16)));

template <typename Vector>
HWY_INLINE Vector read(const std::byte* data) {
  Vector value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}
template <typename Vector>
HWY_INLINE void write(const Vector& value, std::byte* data) {
  std::memcpy(data, &value, sizeof(value));
}

/// Stretches are short and many: a call to memcpy for each would cost more than the copy.
HWY_INLINE void copy_bytes(const std::byte* from, std::byte* to, std::int64_t bytes) {
  constexpr std::int64_t block = 32;
  std::int64_t i = 0;
  for (; i + block <= bytes; i += block) std::memcpy(to + i, from + i, block);
  if (i < bytes) std::memcpy(to + i, from + i, static_cast<std::size_t>(bytes - i));
}

/// x in y's dtype, rounded to `rounded` on the way.
HWY_INLINE void copy_rounded(Source x, DType rounded, Sink y, std::int64_t width) {
  if (x.dtype == y.dtype && rounded == x.dtype) return copy_bytes(x.data, y.data, width * bytes_of(x.dtype));
  if (rounded == x.dtype || rounded == y.dtype) return copy_row(x, y, width);
  constexpr std::int64_t piece = 64;
  alignas(64) std::byte narrow[piece * 4];
  for (std::int64_t i = 0; i < width; i += piece) {
    const std::int64_t count = std::min(piece, width - i);
    copy_row(shifted(x, i), Sink{narrow, rounded}, count);
    copy_row(Source{narrow, rounded}, shifted(y, i), count);
  }
}

/// `count` neighbours in memory row `row` from `first` on, and zeros up to `padded`.
HWY_INLINE void fetch(const Factor& factor, std::int64_t row, std::int64_t first, std::int64_t count, Sink to,
                      std::int64_t padded) {
  const Source line = {factor.data + row * factor.stride_bytes, factor.dtype};
  if (count > 0) copy_rounded(shifted(line, first), factor.rounded, to, count);
  if (count < padded)
    std::memset(shifted(to, count).data, 0, static_cast<std::size_t>((padded - count) * bytes_of(to.dtype)));
}

/// Two rows of `count` bf16 as pairs; count is a multiple of 8.
HWY_INLINE void interleave(const std::byte* even, const std::byte* odd, std::byte* pairs, std::int64_t count) {
  for (std::int64_t i = 0; i < count * 2; i += 16) {
    const auto low = read<Halves>(even + i);
    const auto high = read<Halves>(odd + i);
    write(Halves{__builtin_shufflevector(low, high, 0, 8, 1, 9, 2, 10, 3, 11)}, pairs + i * 2);
    write(Halves{__builtin_shufflevector(low, high, 4, 12, 5, 13, 6, 14, 7, 15)}, pairs + i * 2 + 16);
  }
}

/// Rows of memory that lie a page or more apart are fetched by no hardware of itself.
HWY_INLINE void prefetch(const Factor& factor, std::int64_t row, const Stretch& stretch) {
  const std::byte* const line = factor.data + row * factor.stride_bytes;
  const std::byte* const end = line + (stretch.first + stretch.count) * bytes_of(factor.dtype);
  for (const std::byte* at = line + stretch.first * bytes_of(factor.dtype); at < end; at += 64) __builtin_prefetch(at);
}

/// Group `group` of a stretch whose K is strided: an item for each of the outer values, zeros up to `padded` (a
/// multiple of 8).
HWY_INLINE void fetch_group(const Factor& factor, const Stretch& stretch, std::int64_t group, const Packed& to,
                            std::int64_t padded) {
  constexpr std::int64_t rows_ahead = 8;
  const auto row = [&](std::int64_t k, std::byte* data) HWY_ATTR {
    const bool inside = k < stretch.k_count;
    if (k + rows_ahead < stretch.k_count) prefetch(factor, stretch.k + k + rows_ahead, stretch);
    fetch(factor, stretch.k + (inside ? k : 0), stretch.first, inside ? stretch.count : 0, {data, to.operand}, padded);
  };
  if (to.operand == DType::f32) return row(group, to.data);
  alignas(64) std::byte rows[2][most_packed_rows * 2];
  row(group * 2, rows[0]);
  row(group * 2 + 1, rows[1]);
  interleave(rows[0], rows[1], to.data, padded);
}

/// Four rows of four items, from_bytes apart, become four rows to_bytes apart.
HWY_INLINE void transpose(const std::byte* from, std::int64_t from_bytes, std::byte* to, std::int64_t to_bytes) {
  const auto r0 = read<Items>(from);
  const auto r1 = read<Items>(from + from_bytes);
  const auto r2 = read<Items>(from + 2 * from_bytes);
  const auto r3 = read<Items>(from + 3 * from_bytes);
  const Items low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
  const Items low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  const Items high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
  const Items high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  write(Items{__builtin_shufflevector(low01, low23, 0, 1, 4, 5)}, to);
  write(Items{__builtin_shufflevector(low01, low23, 2, 3, 6, 7)}, to + to_bytes);
  write(Items{__builtin_shufflevector(high01, high23, 0, 1, 4, 5)}, to + 2 * to_bytes);
  write(Items{__builtin_shufflevector(high01, high23, 2, 3, 6, 7)}, to + 3 * to_bytes);
}

HWY_INLINE std::int64_t whole(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Groups of the stretch, at least one.
HWY_INLINE std::int64_t groups_of(const Stretch& stretch, DType operand) {
  const std::int64_t group = item_bytes / bytes_of(operand);
  return std::max<std::int64_t>(whole(stretch.k_count, group) / group, 1);
}

/// Row `index` of a stretch whose K is contiguous, as `groups` items; zeros behind the last row.
HWY_INLINE void fetch_row(const Factor& factor, const Stretch& stretch, std::int64_t index, Sink to,
                          std::int64_t groups) {
  const bool inside = index < stretch.count;
  fetch(factor, stretch.first + (inside ? index : 0), stretch.k, inside ? stretch.k_count : 0, to,
        groups * item_bytes / bytes_of(to.dtype));
}

void transpose_panel(const Factor& factor, const Stretch& stretch, const Packed& packed) {
  constexpr std::int64_t line = most_packed_groups * item_bytes;
  alignas(64) std::byte lines[items_together][line];
  const std::int64_t groups = whole(groups_of(stretch, packed.operand), items_together);
  for (std::int64_t n = 0; n < micro::panel_width; n += items_together) {
    for (std::int64_t i = 0; i < items_together; ++i)
      fetch_row(factor, stretch, n + i, {lines[i], packed.operand}, groups);
    for (std::int64_t group = 0; group < groups; group += items_together)
      transpose(lines[0] + group * item_bytes, line, packed.data + group * panel_row_bytes + n * item_bytes,
                panel_row_bytes);
  }
}

void transpose_rows(const Factor& factor, const Stretch& stretch, const Packed& packed) {
  constexpr std::int64_t line = most_packed_rows * item_bytes;
  alignas(64) std::byte lines[items_together][line];
  const std::int64_t groups = groups_of(stretch, packed.operand);
  for (std::int64_t group = 0; group < groups; group += items_together) {
    for (std::int64_t i = 0; i < items_together; ++i)
      fetch_group(factor, stretch, group + i, {lines[i], packed.operand}, whole(stretch.count, 2 * items_together));
    for (std::int64_t row = 0; row < stretch.count; row += items_together)
      transpose(lines[0] + row * item_bytes, line, packed.data + row * packed.row_bytes + group * item_bytes,
                packed.row_bytes);
  }
}

/// The part of a stretch that one panel holds.
HWY_INLINE Stretch part_of(const Stretch& stretch, std::int64_t panel) {
  const std::int64_t done = panel * micro::panel_width;
  return {stretch.first + done, std::min<std::int64_t>(micro::panel_width, stretch.count - done), stretch.k,
          stretch.k_count};
}

/// Where K is strided, what all panels need of one row of memory is read together.
void pack_panels(const Factor& factor, const Stretch& stretch, const Packed& packed) {
  const std::int64_t panels = whole(stretch.count, micro::panel_width) / micro::panel_width;
  const auto panel_at = [&](std::int64_t panel, std::int64_t group) HWY_ATTR {
    return Packed{packed.data + panel * packed.row_bytes + group * panel_row_bytes, packed.operand, 0};
  };
  if (factor.order == Factor::Order::k_contiguous) {
    for (std::int64_t panel = 0; panel < panels; ++panel)
      transpose_panel(factor, part_of(stretch, panel), panel_at(panel, 0));
    return;
  }
  const std::int64_t groups = groups_of(stretch, packed.operand);
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::int64_t panel = 0; panel < panels; ++panel)
      fetch_group(factor, part_of(stretch, panel), group, panel_at(panel, group), micro::panel_width);
  }
}

void pack_rows(const Factor& factor, const Stretch& stretch, const Packed& packed) {
  if (factor.order == Factor::Order::k_strided) return transpose_rows(factor, stretch, packed);
  for (std::int64_t row = 0; row < stretch.count; ++row)
    fetch_row(factor, stretch, row, {packed.data + row * packed.row_bytes, packed.operand},
              groups_of(stretch, packed.operand));
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(pack_panels);
HWY_EXPORT(pack_rows);

PackPanels choose_pack_panels() {
  return &HWY_DYNAMIC_DISPATCH(pack_panels);
}

PackRows choose_pack_rows() {
  return &HWY_DYNAMIC_DISPATCH(pack_rows);
}

}  // namespace assay::cpu
#endif
