#include "model/coded_matrix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/threads.h"
#include "model/stored_values.h"

namespace assay {
namespace {

/// Rows that are read at once, for some layouts have outputs beside one another.
constexpr std::int64_t band_rows = 16;

/// act(n, codes of that row) for every row, on all threads.
template <typename Act>
void for_each_row(const CodedMatrix& m, Act&& act) {
  parallel_for((m.out + band_rows - 1) / band_rows, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(band_rows * m.in));
    for (std::int64_t first = begin * band_rows; first < std::min(m.out, end * band_rows); first += band_rows) {
      const std::int64_t rows = std::min(band_rows, m.out - first);
      m.read(first, rows, codes.data());
      for (std::int64_t row = 0; row < rows; ++row) act(first + row, codes.data() + row * m.in);
    }
  });
}

void widen_row(const CodedMatrix& m, std::int64_t n, const std::uint8_t* codes, float* values) {
  const float* const value = values_of(m.codes).data();
  for (std::int64_t k = 0; k < m.in;) {
    const std::size_t place = m.place(n, k);
    const float scale = m.scales[place];
    const float zero = m.zeros.empty() ? m.zero : m.zeros[place];
    const std::int64_t end = k + m.stretch(n, k);
    for (; k < end; ++k) {
      const float product = (value[codes[k]] - zero) * scale;
      values[k] = product * m.factor;
    }
  }
}

/// The scales, zero points and bits of the groups of one block.
struct GroupParts {
  std::array<float, 16> scales;
  std::array<std::int16_t, 16> zeros;
  std::array<std::uint8_t, 16> bits;
};

BlockParts block_parts(const CodedMatrix& m, std::int64_t n, std::int64_t k, const BlockFormat& format,
                       const std::uint8_t* codes, GroupParts& groups) {
  const auto count = static_cast<std::size_t>(format.elements / format.group);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = m.place(n, k + static_cast<std::int64_t>(i) * format.group);
    groups.scales[i] = m.scales[place];
    groups.zeros[i] = m.zeros.empty() ? m.zero : m.zeros[place];
    groups.bits[i] = m.scale_bits.empty() ? std::uint8_t{0} : m.scale_bits[place];
  }
  return {.codes = codes + k,
          .scales = {groups.scales.data(), count},
          .zeros = {groups.zeros.data(), count},
          .scale_bits = {groups.bits.data(), count},
          .global = m.global};
}

}  // namespace

std::size_t CodedMatrix::place(std::int64_t n, std::int64_t k) const {
  if (order == Order::flowing) return static_cast<std::size_t>((n * in + k) / columns_a_scale);
  const std::int64_t column = group_of.empty() ? k / columns_a_scale : group_of[static_cast<std::size_t>(k)];
  return static_cast<std::size_t>(n / rows_a_scale * scale_columns + column);
}

std::int64_t CodedMatrix::stretch(std::int64_t n, std::int64_t k) const {
  if (!group_of.empty()) return 1;
  const std::int64_t at = order == Order::flowing ? n * in + k : k;
  return std::min(in - k, columns_a_scale - at % columns_a_scale);
}

float e8m0_value(std::uint8_t exponent) {
  return std::ldexp(1.0F, exponent - 127);
}

void split_bytes(const std::byte* bytes, std::int64_t codes, std::uint8_t* to) {
  for (std::int64_t i = 0; i < codes / 2; ++i) {
    *to++ = static_cast<std::uint8_t>(bytes[i] & std::byte{0x0F});
    *to++ = static_cast<std::uint8_t>(bytes[i] >> 4);
  }
}

WeightData widened(const CodedMatrix& m) {
  Tensor values(DType::f32, {m.out, m.in});
  for_each_row(
      m, [&](std::int64_t n, const std::uint8_t* codes) { widen_row(m, n, codes, values.as<float>() + n * m.in); });
  return owning(std::move(values));
}

WeightData laid(const CodedMatrix& m, const CodedFormat& format) {
  const BlockFormat& blocks = *format.blocks;
  Tensor rows(DType::u8, {m.out, blocks.bytes_of(m.in)});
  for_each_row(m, [&](std::int64_t n, const std::uint8_t* codes) {
    GroupParts groups;
    std::byte* block = rows.data() + n * blocks.bytes_of(m.in);
    for (std::int64_t k = 0; k < m.in; k += blocks.elements, block += blocks.bytes)
      format.lay(block_parts(m, n, k, blocks, codes, groups), block);
  });
  return owning(std::move(rows));
}

}  // namespace assay
