#include "kernels/packing.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/threads.h"
#include "kernels/pack_parts.h"
#include "kernels/stripes.h"

namespace assay {
namespace {

std::int64_t panel_count(const Packing& packing, std::int64_t out) {
  return (out + packing.width - 1) / packing.width;
}

std::int64_t group_count(const Packing& packing, std::int64_t in) {
  const std::int64_t group = packing.blocks != nullptr ? packing.blocks->bytes : packing.group;
  return (in + group - 1) / group;
}

/// The most rows that a panel can have.
constexpr std::int64_t widest_panel = 32;

/// One panel as it is filled: the rows of the weight that it holds.
struct PanelSource {
  std::array<const std::byte*, widest_panel> row;
  std::int64_t rows;  ///< At most packing.width; fewer in the last panel.
  std::int64_t in;
};

/// Copies `Group`-sized pieces of the rows next to each other. `Element` is an unsigned integer of the dtype's size.
template <typename Element, int group>
void fill_panel(const PanelSource& source, std::int64_t width, Element* panel) {
  const auto row = [&](std::int64_t n) {
    return reinterpret_cast<const Element*>(source.row[static_cast<std::size_t>(n)]);
  };
  const std::int64_t whole_groups = source.in / group;
  const std::int64_t tail = source.in % group;
  // Rows in strips and inputs in short runs, so that the lines that are written stay in the first cache.
  constexpr std::int64_t run = 32;
  for (std::int64_t begin = 0; begin < whole_groups; begin += run) {
    const std::int64_t end = std::min(begin + run, whole_groups);
    for (std::int64_t n = 0; n < source.rows; ++n) {
      for (std::int64_t g = begin; g < end; ++g) {
        std::memcpy(panel + (g * width + n) * group, row(n) + g * group, group * sizeof(Element));
      }
    }
  }
  for (std::int64_t n = 0; n < source.rows && tail != 0; ++n) {
    std::memcpy(panel + (whole_groups * width + n) * group, row(n) + whole_groups * group,
                static_cast<std::size_t>(tail) * sizeof(Element));
  }
}

using FillPanel = void (*)(const PanelSource& source, const Packing& packing, std::byte* panel);

template <typename Element, int group>
void fill(const PanelSource& source, const Packing& packing, std::byte* panel) {
  fill_panel<Element, group>(source, packing.width, reinterpret_cast<Element*>(panel));
}

void fill_stripes(const PanelSource& source, const Packing& packing, std::byte* panel) {
  const std::int64_t blocks = group_count(packing, source.in);
  for (std::int64_t block = 0; block < blocks; ++block)
    write_stripe(*packing.blocks, source.row[0] + block * packing.blocks->bytes, source.in, source.rows,
                 panel + block * packing.width * packing.group);
}

FillPanel fill_function(const Packing& packing) {
  const std::size_t size = size_of(packing.dtype);
  if (size == 4 && packing.group == 1) return fill<std::uint32_t, 1>;
  if (size == 2 && packing.group == 1) return fill<std::uint16_t, 1>;
  if (size == 2 && packing.group == 2) return fill<std::uint16_t, 2>;
  if (packing.blocks != nullptr) return fill_stripes;
  if (size == 1 && packing.group == 4) return fill<std::uint8_t, 4>;
  fail_assertion("no panels of such elements and groups", __FILE__, __LINE__);
}

void sum_columns(const PanelSource& source, std::int64_t width, std::int32_t* sums) {
  for (std::int64_t n = 0; n < width; ++n) {
    const auto* row = reinterpret_cast<const std::int8_t*>(source.row[static_cast<std::size_t>(n)]);
    std::int32_t sum = 0;
    for (std::int64_t k = 0; k < source.in && n < source.rows; ++k) sum += row[k];
    sums[n] = sum;
  }
}

/// The rows of matrices that stand one below the other.
class StackedRows {
 public:
  explicit StackedRows(std::span<const TensorView> parts) : parts_(parts) {
    for (const TensorView& part : parts) {
      ASSAY_ASSERT(part.shape.size() == 2 && part.shape[1] == in());
      out_ += part.shape[0];
    }
  }

  std::int64_t out() const { return out_; }
  std::int64_t in() const { return parts_[0].shape[1]; }
  bool are_all(DType dtype) const {
    return std::all_of(parts_.begin(), parts_.end(), [&](const TensorView& part) { return part.dtype == dtype; });
  }
  struct Row {
    DType dtype;
    const std::byte* data;
  };
  Row operator[](std::int64_t n) const {
    std::size_t part = 0;
    for (; n >= parts_[part].shape[0]; ++part) n -= parts_[part].shape[0];
    const DType dtype = parts_[part].dtype;
    return {dtype, parts_[part].data + static_cast<std::size_t>(n * in()) * size_of(dtype)};
  }

 private:
  std::span<const TensorView> parts_;
  std::int64_t out_ = 0;
};

/// The panel's rows where they lie.
PanelSource panel_source(const StackedRows& rows, const Packing& packing, std::int64_t first) {
  PanelSource source{{}, std::min<std::int64_t>(packing.width, rows.out() - first), rows.in()};
  for (std::int64_t n = 0; n < source.rows; ++n) source.row[static_cast<std::size_t>(n)] = rows[first + n].data;
  return source;
}

/// Fills a panel from rows of other dtypes, each value rounded once, by stretches of columns that stay in the first
/// caches.
void fill_converted(const StackedRows& rows, const Packing& packing, std::int64_t first, std::byte* panel) {
  constexpr std::int64_t stretch = 256;  // a multiple of every group
  constexpr std::size_t widest_element = 4;
  alignas(64) std::byte values[widest_panel * stretch * widest_element];
  const auto size = static_cast<std::int64_t>(size_of(packing.dtype));
  const FillPanel fill_one = fill_function(packing);
  for (std::int64_t column = 0; column < rows.in(); column += stretch) {
    PanelSource part{
        {}, std::min<std::int64_t>(packing.width, rows.out() - first), std::min(stretch, rows.in() - column)};
    for (std::int64_t n = 0; n < part.rows; ++n) {
      const auto [stored, row] = rows[first + n];
      std::byte* const to = values + n * stretch * size;
      convert(stored, row + static_cast<std::size_t>(column) * size_of(stored), packing.dtype, to,
              static_cast<std::size_t>(part.in));
      part.row[static_cast<std::size_t>(n)] = to;
    }
    fill_one(part, packing, panel + column * packing.width * size);
  }
}

void copy_rows(std::span<const TensorView> parts, DType dtype, std::byte* to) {
  for (const TensorView& part : parts) {
    convert(part.dtype, part.data, dtype, to, static_cast<std::size_t>(part.count()));
    to += static_cast<std::size_t>(part.count()) * size_of(dtype);
  }
}

}  // namespace

std::string to_string(const Packing& packing) {
  if (packing.kind == Packing::Kind::plain) return "plain";
  const std::string groups = packing.blocks != nullptr ? std::string(packing.blocks->name) + " in stripes"
                                                       : "groups of " + std::to_string(packing.group);
  return "panels of " + std::to_string(packing.width) + ", " + groups;
}

std::size_t column_sums_offset(const Packing& packing, std::int64_t out, std::int64_t in) {
  const std::int64_t elements = panel_count(packing, out) * packing.width * group_count(packing, in) * packing.group;
  return static_cast<std::size_t>(elements) * size_of(packing.dtype);
}

std::size_t packed_bytes(const Packing& packing, std::int64_t out, std::int64_t in) {
  if (packing.kind == Packing::Kind::plain) return static_cast<std::size_t>(out * in) * size_of(packing.dtype);
  const std::size_t sums = packing.dtype == DType::s8 ? sizeof(std::int32_t) : 0;
  return column_sums_offset(packing, out, in) +
         static_cast<std::size_t>(panel_count(packing, out) * packing.width) * sums;
}

std::int64_t stripe_offset(const Packing& packing, std::int64_t row_bytes, std::int64_t n, std::int64_t block) {
  return (n / packing.width * group_count(packing, row_bytes) + block) * packing.width * packing.group;
}

void BlockRows::decode(std::int64_t row, std::int64_t block, GroupedCodes& out) const {
  if (packing.kind == Packing::Kind::plain) return format.decode(data + row * row_bytes + block * format.bytes, out);
  decode_from_stripe(format, data + stripe_offset(packing, row_bytes, row, block), row % packing.width, out);
}

void pack(const TensorView& weight, const Packing& packing, std::byte* packed) {
  ASSAY_ASSERT(weight.dtype == packing.dtype);
  pack_parts({&weight, 1}, packing, packed);
}

void pack_parts(std::span<const TensorView> parts, const Packing& packing, std::byte* packed) {
  const StackedRows rows(parts);
  const bool as_they_are = rows.are_all(packing.dtype);
  const bool are_codes = packing.dtype == DType::s8 || packing.dtype == DType::u8;
  ASSAY_ASSERT(as_they_are || !are_codes);
  if (packing.kind == Packing::Kind::plain) return copy_rows(parts, packing.dtype, packed);
  ASSAY_ASSERT(packing.width <= widest_panel);
  ASSAY_ASSERT(packing.dtype != DType::u8 ||
               (packing.blocks != nullptr && parts.size() == 1 && rows.in() % packing.blocks->bytes == 0));
  const FillPanel fill_one = fill_function(packing);
  const std::int64_t in = rows.in();
  const std::size_t panel_bytes = column_sums_offset(packing, packing.width, in);
  auto* sums = reinterpret_cast<std::int32_t*>(packed + column_sums_offset(packing, rows.out(), in));
  parallel_for(panel_count(packing, rows.out()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t panel = begin; panel < end; ++panel) {
      const std::int64_t first = panel * packing.width;
      const PanelSource source = panel_source(rows, packing, first);
      std::byte* target = packed + static_cast<std::size_t>(panel) * panel_bytes;
      if (source.rows < packing.width) std::memset(target, 0, panel_bytes);
      const std::size_t last_group = static_cast<std::size_t>(packing.width * packing.group) * size_of(packing.dtype);
      if (packing.blocks == nullptr && in % packing.group != 0)
        std::memset(target + panel_bytes - last_group, 0, last_group);
      if (as_they_are)
        fill_one(source, packing, target);
      else
        fill_converted(rows, packing, first, target);
      if (packing.dtype == DType::s8) sum_columns(source, packing.width, sums + first);
    }
  });
}

}  // namespace assay
