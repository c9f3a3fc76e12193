#include "kernels/packing.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/threads.h"
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

/// One panel as it is filled: which part of the weight it holds.
struct PanelSource {
  const std::byte* first_row;  ///< Row panel * width of the weight.
  std::int64_t rows;           ///< At most packing.width; fewer in the last panel.
  std::int64_t in;
};

/// Copies `Group`-sized pieces of the rows next to each other. `Element` is an unsigned integer of the dtype's size.
template <typename Element, int group>
void fill_panel(const PanelSource& source, std::int64_t width, Element* panel) {
  const auto* rows = reinterpret_cast<const Element*>(source.first_row);
  const std::int64_t whole_groups = source.in / group;
  const std::int64_t tail = source.in % group;
  // Rows in strips and inputs in short runs, so that the lines that are written stay in the first cache.
  constexpr std::int64_t run = 32;
  for (std::int64_t begin = 0; begin < whole_groups; begin += run) {
    const std::int64_t end = std::min(begin + run, whole_groups);
    for (std::int64_t n = 0; n < source.rows; ++n) {
      for (std::int64_t g = begin; g < end; ++g) {
        std::memcpy(panel + (g * width + n) * group, rows + n * source.in + g * group, group * sizeof(Element));
      }
    }
  }
  for (std::int64_t n = 0; n < source.rows && tail != 0; ++n) {
    std::memcpy(panel + (whole_groups * width + n) * group, rows + n * source.in + whole_groups * group,
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
    write_stripe(*packing.blocks, source.first_row + block * packing.blocks->bytes, source.in, source.rows,
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
  const auto* rows = reinterpret_cast<const std::int8_t*>(source.first_row);
  for (std::int64_t n = 0; n < width; ++n) {
    std::int32_t sum = 0;
    for (std::int64_t k = 0; k < source.in && n < source.rows; ++k) sum += rows[n * source.in + k];
    sums[n] = sum;
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
  ASSAY_ASSERT(weight.shape.size() == 2 && weight.dtype == packing.dtype);
  ASSAY_ASSERT(packing.kind == Packing::Kind::plain || packing.dtype != DType::u8 ||
               (packing.blocks != nullptr && weight.shape[1] % packing.blocks->bytes == 0));
  const std::int64_t out = weight.shape[0];
  const std::int64_t in = weight.shape[1];
  if (packing.kind == Packing::Kind::plain) {
    std::memcpy(packed, weight.data, weight.bytes());
    return;
  }
  const FillPanel fill_one = fill_function(packing);
  const std::size_t panel_bytes = column_sums_offset(packing, packing.width, in);
  const std::size_t row_bytes = static_cast<std::size_t>(in) * size_of(packing.dtype);
  auto* sums = reinterpret_cast<std::int32_t*>(packed + column_sums_offset(packing, out, in));
  parallel_for(panel_count(packing, out), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t panel = begin; panel < end; ++panel) {
      const std::int64_t first = panel * packing.width;
      const PanelSource source = {.first_row = weight.data + static_cast<std::size_t>(first) * row_bytes,
                                  .rows = std::min<std::int64_t>(packing.width, out - first),
                                  .in = in};
      std::byte* target = packed + static_cast<std::size_t>(panel) * panel_bytes;
      if (source.rows < packing.width) std::memset(target, 0, panel_bytes);
      const std::size_t last_group = static_cast<std::size_t>(packing.width * packing.group) * size_of(packing.dtype);
      if (packing.blocks == nullptr && in % packing.group != 0)
        std::memset(target + panel_bytes - last_group, 0, last_group);
      fill_one(source, packing, target);
      if (packing.dtype == DType::s8) sum_columns(source, packing.width, sums + first);
    }
  });
}

}  // namespace assay
