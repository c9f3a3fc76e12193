#include "kernels/cpu/pack_block.h"

#include "kernels/cpu/targets.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pack_block.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/copy_row-inl.h"
#include "kernels/cpu/pair_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

constexpr std::int64_t item_bytes = 4;
constexpr std::int64_t items_together = 4;  ///< Rows and columns of one transposition: 16 bytes.
constexpr std::int64_t items_a_line = 16;
constexpr std::int64_t rows_ahead = 8;  ///< Of memory, that are asked for beforehand.

/// 16 bytes, in the registers of every instruction set.
using Items = std::uint32_t __attribute__((vector_size(16)));

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

/// `count` values of memory row `row` from `first` on. Rows that lie a page or more apart are fetched by no hardware of
/// itself.
HWY_INLINE void prefetch(const Factor& factor, std::int64_t row, std::int64_t first, std::int64_t count) {
  const std::byte* const line = factor.data + row * factor.stride_bytes;
  const std::byte* const end = line + (first + count) * bytes_of(factor.dtype);
  for (const std::byte* at = line + first * bytes_of(factor.dtype); at < end; at += 64) __builtin_prefetch(at);
}

/// Group `group` of a stretch whose K is strided, straight from memory: whole pairs of K and whole lines of items.
template <DType stored>
HWY_INLINE void pair_group(const Factor& factor, const Stretch& stretch, std::int64_t group, std::byte* to) {
  const std::int64_t k = group * 2;
  for (std::int64_t row = k + rows_ahead; row < std::min(k + rows_ahead + 2, stretch.k_count); ++row)
    prefetch(factor, stretch.k + row, stretch.first, stretch.count);
  const std::byte* const even = factor.data + (stretch.k + k) * factor.stride_bytes + stretch.first * bytes_of(stored);
  pair_rows<stored>(even, even + factor.stride_bytes, to, stretch.count);
}

/// The same of any stretch: an item for each of the outer values, zeros up to `padded` (a multiple of items_a_line).
HWY_INLINE void fetch_group(const Factor& factor, const Stretch& stretch, std::int64_t group, const Packed& to,
                            std::int64_t padded) {
  if (to.operand == DType::bf16 && stretch.count == padded && group * 2 + 1 < stretch.k_count) {
    if (factor.dtype == DType::bf16) return pair_group<DType::bf16>(factor, stretch, group, to.data);
    const bool rounds_once = factor.rounded == DType::f32 || factor.rounded == DType::bf16;
    if (factor.dtype == DType::f32 && rounds_once) return pair_group<DType::f32>(factor, stretch, group, to.data);
  }
  const auto row = [&](std::int64_t k, std::byte* data) HWY_ATTR {
    const bool inside = k < stretch.k_count;
    if (k + rows_ahead < stretch.k_count) prefetch(factor, stretch.k + k + rows_ahead, stretch.first, stretch.count);
    fetch(factor, stretch.k + (inside ? k : 0), stretch.first, inside ? stretch.count : 0, {data, to.operand}, padded);
  };
  if (to.operand == DType::f32) return row(group, to.data);
  alignas(64) std::byte rows[2][most_packed_rows * 2];
  row(group * 2, rows[0]);
  row(group * 2 + 1, rows[1]);
  pair_rows<DType::bf16>(rows[0], rows[1], to.data, padded);
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

#if HWY_TARGET <= HWY_AVX3
/// A line of items: in one register here.
using Line = std::uint32_t __attribute__((vector_size(64)));

/// 16 rows of a line, from_bytes apart, become 16 rows to_bytes apart. After the second step each quarter b of
/// quads[4 g + e] has item 4 b + e of rows 4 g to 4 g + 3; the others bring the quarters to their places.
HWY_INLINE void transpose_line(const std::byte* from, std::int64_t from_bytes, std::byte* to, std::int64_t to_bytes) {
  Line rows[16];
  Line pairs[16];
  Line quads[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) rows[i] = read<Line>(from + i * from_bytes);
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = __builtin_shufflevector(rows[i], rows[i + 1], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    pairs[i + 1] =
        __builtin_shufflevector(rows[i], rows[i + 1], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    const int first = i / 4 * 4 + i % 4 / 2;  // of the pairs that have these items: this one and the next but one
    quads[i] = __builtin_shufflevector(pairs[first], pairs[first + 2], 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13,
                                       28, 29);
    quads[i + 1] = __builtin_shufflevector(pairs[first], pairs[first + 2], 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27,
                                           14, 15, 30, 31);
  }
#pragma GCC unroll 4
  for (int e = 0; e < 4; ++e) {
    const auto lower = [](Line a, Line b) HWY_ATTR {
      return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    };
    const auto upper = [](Line a, Line b) HWY_ATTR {
      return __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    };
    const auto even = [](Line a, Line b) HWY_ATTR {
      return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    };
    const auto odd = [](Line a, Line b) HWY_ATTR {
      return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    };
    const Line low01 = lower(quads[e], quads[4 + e]);
    const Line low23 = lower(quads[8 + e], quads[12 + e]);
    const Line high01 = upper(quads[e], quads[4 + e]);
    const Line high23 = upper(quads[8 + e], quads[12 + e]);
    write(even(low01, low23), to + e * to_bytes);
    write(odd(low01, low23), to + (4 + e) * to_bytes);
    write(even(high01, high23), to + (8 + e) * to_bytes);
    write(odd(high01, high23), to + (12 + e) * to_bytes);
  }
}
#endif

/// `rows` rows of `columns` items (multiples of 4), from_bytes apart, become `columns` rows to_bytes apart.
HWY_INLINE void transpose_items(const std::byte* from, std::int64_t from_bytes, std::int64_t rows, std::int64_t columns,
                                std::byte* to, std::int64_t to_bytes) {
#if HWY_TARGET <= HWY_AVX3
  if (rows % items_a_line == 0 && columns % items_a_line == 0) {
    for (std::int64_t column = 0; column < columns; column += items_a_line) {
      for (std::int64_t row = 0; row < rows; row += items_a_line)
        transpose_line(from + row * from_bytes + column * item_bytes, from_bytes,
                       to + column * to_bytes + row * item_bytes, to_bytes);
    }
    return;
  }
#endif
  for (std::int64_t column = 0; column < columns; column += items_together) {
    for (std::int64_t row = 0; row < rows; row += items_together)
      transpose(from + row * from_bytes + column * item_bytes, from_bytes, to + column * to_bytes + row * item_bytes,
                to_bytes);
  }
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

/// Whether memory has the items as they will be packed.
HWY_INLINE bool holds_items(const Factor& factor, const Packed& packed) {
  return factor.dtype == packed.operand && factor.rounded == factor.dtype;
}

/// Rows of items, `stride` bytes apart.
struct ItemRows {
  const std::byte* data;
  std::int64_t stride;
  std::int64_t ahead = 0;  ///< From each line to the one that will be read in its place later; 0: not known.
};

/// `width` rows of `groups` items (a multiple of 4) become groups of `width` items. Lines of both sides are finished
/// before the next ones are begun: in a panel that is written 16 bytes a line, pass after pass, most lines have left
/// the first cache when their turn comes again.
HWY_INLINE void transpose_lines(const ItemRows& rows, std::int64_t width, std::int64_t groups, std::byte* to) {
  const std::int64_t group_bytes = width * item_bytes;
  for (std::int64_t line = 0; line < groups; line += items_a_line) {
    const std::int64_t end = std::min(line + items_a_line, groups);
    for (std::int64_t row = 0; rows.ahead != 0 && row < width; ++row)
      __builtin_prefetch(rows.data + row * rows.stride + line * item_bytes + rows.ahead);
    transpose_items(rows.data + line * item_bytes, rows.stride, width, end - line, to + line * group_bytes,
                    group_bytes);
  }
}

void transpose_panel(const Factor& factor, const Stretch& stretch, const Packed& packed) {
  constexpr std::int64_t together = 64;  // groups
  constexpr std::int64_t line = together * item_bytes + 64;
  alignas(64) std::byte lines[micro::panel_width][line];
  const std::int64_t group = item_bytes / bytes_of(packed.operand);
  const std::int64_t groups = whole(groups_of(stretch, packed.operand), items_together);
  const bool in_place =
      holds_items(factor, packed) && stretch.count == packed.width && stretch.k_count == groups * group;
  for (std::int64_t first = 0; first < groups; first += together) {
    const std::int64_t here = std::min(together, groups - first);
    Stretch piece = stretch;
    piece.k += first * group;
    piece.k_count = std::clamp<std::int64_t>(stretch.k_count - first * group, 0, here * group);
    ItemRows rows = {lines[0], line};
    if (in_place) {
      const bool last = first + together >= groups;
      rows = {factor.data + stretch.first * factor.stride_bytes + piece.k * bytes_of(factor.dtype), factor.stride_bytes,
              last ? packed.width * factor.stride_bytes - first * item_bytes : together * item_bytes};
    } else {
      const std::int64_t next = piece.k + here * group;
      const std::int64_t next_count = std::min(together * group, stretch.k + stretch.k_count - next);
      for (std::int64_t n = 0; n < packed.width; ++n) {
        if (n < stretch.count) prefetch(factor, stretch.first + n, next, next_count);
        fetch_row(factor, piece, n, {lines[n], packed.operand}, here);
      }
    }
    transpose_lines(rows, packed.width, here, packed.data + first * packed.width * item_bytes);
  }
}

/// Where memory has whole items: all rows and groups are there.
HWY_INLINE void transpose_rows_in_place(const Factor& factor, const Stretch& stretch, const Packed& packed) {
  const std::byte* const from = factor.data + stretch.k * factor.stride_bytes + stretch.first * item_bytes;
  for (std::int64_t group = 0; group < stretch.k_count; group += items_a_line) {
    const std::int64_t here = std::min(items_a_line, stretch.k_count - group);
    for (std::int64_t k = group + here; k < std::min(group + here + items_a_line, stretch.k_count); ++k)
      prefetch(factor, stretch.k + k, stretch.first, stretch.count);
    transpose_items(from + group * factor.stride_bytes, factor.stride_bytes, here, stretch.count,
                    packed.data + group * item_bytes, packed.row_bytes);
  }
}

void transpose_rows(const Factor& factor, const Stretch& stretch, const Packed& packed) {
  constexpr std::int64_t line = most_packed_rows * item_bytes + 64;
  alignas(64) std::byte lines[items_a_line][line];
  const bool whole_items = bytes_of(factor.dtype) == item_bytes && holds_items(factor, packed);
  const bool whole_blocks = stretch.count % items_together == 0 && stretch.k_count % items_together == 0;
  if (whole_items && whole_blocks && stretch.k_count > 0) return transpose_rows_in_place(factor, stretch, packed);
  const std::int64_t groups = whole(groups_of(stretch, packed.operand), items_together);
  for (std::int64_t group = 0; group < groups; group += items_a_line) {
    const std::int64_t here = std::min(items_a_line, groups - group);
    for (std::int64_t i = 0; i < here; ++i)
      fetch_group(factor, stretch, group + i, {lines[i], packed.operand}, whole(stretch.count, items_a_line));
    transpose_items(lines[0], line, here, whole(stretch.count, items_together), packed.data + group * item_bytes,
                    packed.row_bytes);
  }
}

/// The part of a stretch that one panel of so many columns holds.
HWY_INLINE Stretch part_of(const Stretch& stretch, std::int64_t panel, std::int64_t width) {
  const std::int64_t done = panel * width;
  return {stretch.first + done, std::min(width, stretch.count - done), stretch.k, stretch.k_count};
}

/// Panels of a stretch whose K is strided, where memory has whole items and all columns are there.
HWY_INLINE void copy_panels(const Factor& factor, const Stretch& stretch, const Packed& packed) {
  constexpr std::int64_t half_line = 32;
  const std::int64_t group_bytes = packed.width * item_bytes;
  const std::int64_t panels = stretch.count / packed.width;
  for (std::int64_t k = 0; k < stretch.k_count; ++k) {
    const std::byte* const from = factor.data + (stretch.k + k) * factor.stride_bytes + stretch.first * item_bytes;
    std::byte* const to = packed.data + k * group_bytes;
    if (k + rows_ahead < stretch.k_count) prefetch(factor, stretch.k + k + rows_ahead, stretch.first, stretch.count);
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      for (std::int64_t i = 0; i < group_bytes; i += half_line)
        std::memcpy(to + panel * packed.row_bytes + i, from + panel * group_bytes + i, half_line);
    }
  }
}

/// Where K is strided, what all panels need of one row of memory is read together.
void pack_panels(const Factor& factor, const Stretch& stretch, const Packed& packed) {
  const std::int64_t panels = whole(stretch.count, packed.width) / packed.width;
  const std::int64_t group_bytes = packed.width * item_bytes;
  const auto panel_at = [&](std::int64_t panel, std::int64_t group) HWY_ATTR {
    Packed at = packed;
    at.data += panel * packed.row_bytes + group * group_bytes;
    return at;
  };
  if (factor.order == Factor::Order::k_contiguous) {
    for (std::int64_t panel = 0; panel < panels; ++panel)
      transpose_panel(factor, part_of(stretch, panel, packed.width), panel_at(panel, 0));
    return;
  }
  const bool whole_items = bytes_of(factor.dtype) == item_bytes && holds_items(factor, packed);
  if (whole_items && stretch.count == panels * packed.width && stretch.k_count > 0)
    return copy_panels(factor, stretch, packed);
  const std::int64_t groups = groups_of(stretch, packed.operand);
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::int64_t panel = 0; panel < panels; ++panel)
      fetch_group(factor, part_of(stretch, panel, packed.width), group, panel_at(panel, group), packed.width);
  }
}

constexpr std::int64_t six = micro::avx2_rows;
constexpr std::int64_t six_bytes = six * item_bytes;

/// Six items side by side.
HWY_INLINE void copy_six(const std::byte* from, std::byte* to) {
  std::memcpy(to, from, 4 * item_bytes);
  std::memcpy(to + 4 * item_bytes, from + 4 * item_bytes, 2 * item_bytes);
}

/// Six rows of `groups` items (a multiple of 4), `stride` bytes apart, become one row: an item of each in turn.
HWY_INLINE void interleave_six(const std::byte* rows, std::int64_t stride, std::int64_t groups, std::byte* to) {
  for (std::int64_t group = 0; group < groups; group += items_together) {
    const std::byte* const from = rows + group * item_bytes;
    std::byte* const at = to + group * six_bytes;
    transpose(from, stride, at, six_bytes);
    const auto fifth = read<Items>(from + 4 * stride);
    const auto sixth = read<Items>(from + 5 * stride);
    const Items low = __builtin_shufflevector(fifth, sixth, 0, 4, 1, 5);
    const Items high = __builtin_shufflevector(fifth, sixth, 2, 6, 3, 7);
    std::memcpy(at + 4 * item_bytes, &low, 8);
    std::memcpy(at + six_bytes + 4 * item_bytes, reinterpret_cast<const std::byte*>(&low) + 8, 8);
    std::memcpy(at + 2 * six_bytes + 4 * item_bytes, &high, 8);
    std::memcpy(at + 3 * six_bytes + 4 * item_bytes, reinterpret_cast<const std::byte*>(&high) + 8, 8);
  }
}

/// Of a stretch whose K is contiguous.
HWY_INLINE void interleave_rows(const Factor& factor, const Stretch& stretch, const Packed& packed) {
  constexpr std::int64_t line = most_packed_groups * item_bytes + 64;
  alignas(64) std::byte lines[six][line];
  const std::int64_t groups = whole(groups_of(stretch, packed.operand), items_together);
  const bool whole_items = holds_items(factor, packed) && stretch.k_count == groups;
  for (std::int64_t row = 0; row < stretch.count; row += six) {
    std::byte* const to = packed.data + row / six * packed.row_bytes;
    if (whole_items && row + six <= stretch.count) {
      const std::byte* const from =
          factor.data + (stretch.first + row) * factor.stride_bytes + stretch.k * bytes_of(factor.dtype);
      interleave_six(from, factor.stride_bytes, groups, to);
      continue;
    }
    for (std::int64_t i = 0; i < six; ++i) fetch_row(factor, stretch, row + i, {lines[i], packed.operand}, groups);
    interleave_six(lines[0], line, groups, to);
  }
}

/// Of a stretch whose K is strided: a row of memory has an item of each row.
HWY_INLINE void interleave_groups(const Factor& factor, const Stretch& stretch, const Packed& packed) {
  alignas(64) std::byte line[(most_packed_rows + 64) * item_bytes];
  const std::int64_t wide = whole(stretch.count, six);
  const bool whole_items = holds_items(factor, packed) && stretch.count == wide;
  for (std::int64_t k = 0; k < std::max<std::int64_t>(stretch.k_count, 1); ++k) {
    const std::byte* from = line;
    if (whole_items && k < stretch.k_count) {
      if (k + rows_ahead < stretch.k_count) prefetch(factor, stretch.k + k + rows_ahead, stretch.first, stretch.count);
      from = factor.data + (stretch.k + k) * factor.stride_bytes + stretch.first * item_bytes;
    } else {
      fetch_group(factor, stretch, k, {line, packed.operand}, whole(wide, items_a_line));
    }
    for (std::int64_t row = 0; row < wide; row += six)
      copy_six(from + row * item_bytes, packed.data + row / six * packed.row_bytes + k * six_bytes);
  }
}

void pack_rows(const Factor& factor, const Stretch& stretch, const Packed& packed) {
  const bool is_strided = factor.order == Factor::Order::k_strided;
  if (packed.interleaved > 1)
    return is_strided ? interleave_groups(factor, stretch, packed) : interleave_rows(factor, stretch, packed);
  if (is_strided) return transpose_rows(factor, stretch, packed);
  for (std::int64_t row = 0; row < stretch.count; ++row) {
    if (row + 2 < stretch.count) prefetch(factor, stretch.first + row + 2, stretch.k, stretch.k_count);
    fetch_row(factor, stretch, row, {packed.data + row * packed.row_bytes, packed.operand},
              groups_of(stretch, packed.operand));
  }
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
