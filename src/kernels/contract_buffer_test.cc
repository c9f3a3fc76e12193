#include "kernels/contract_buffer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/error.h"
#include "base/random.h"

namespace assay::contract {
namespace {

constexpr auto guard_byte = std::byte{0xA5};

std::int64_t span_of(const Argument& argument) {
  const std::int64_t rows = argument.rows();
  return rows == 0 ? 0 : (rows - 1) * argument.row_stride + argument.width();
}

/// Elements before the first row. A window begins somewhere in its rows, at whatever address.
std::int64_t lead_of(const Argument& argument) {
  return guard_elements + (argument.row_stride - argument.width()) % 4;
}

double mask_value(Fill fill, const Argument& argument, std::int64_t row, std::int64_t column, Random& random) {
  const std::int64_t width = argument.width();
  const std::int64_t real = 1 + (row * 5 + width / 2) % width;
  if (fill == Fill::right_padded) return column < real ? 1 : 0;
  if (fill == Fill::left_padded) return column >= width - real ? 1 : 0;
  const double coin = random.next_uniform() < 0.6 ? 1 : 0;
  return row + 1 == argument.rows() ? 0 : coin;
}

/// Of row `row`: none, as many as leave room for all new ones, ...; a ring may have been filled several times.
double held_tokens(const Call& call, std::int64_t row) {
  const std::int64_t slots = (call.operation == &op::append_cache ? call.out(0) : call.in(1)).shape[1];
  const std::int64_t room = slots - call.in(0).shape[1];
  return static_cast<double>(call.attributes.window > 0 ? row * (2 * slots + 1) : room * (row % 3) / 2);
}

double value_of(const Case& one, std::size_t index, std::int64_t row, std::int64_t column, Random& random) {
  const Argument& argument = one.call.in(index);
  switch (one.fills[index]) {
    case Fill::normal:
      return random.next_normal();
    case Fill::weights:
      return random.next_normal() / std::sqrt(static_cast<double>(argument.width()));
    case Fill::around_one:
      return 1 + 0.1 * random.next_normal();
    case Fill::small:
      return 0.005 + 0.01 * random.next_uniform();
    case Fill::whole:
      return static_cast<double>(random.below(255)) - 127;
    case Fill::codes:
      return static_cast<double>(random.below(256));
    case Fill::magnitudes: {
      const double size = std::ldexp(1 + random.next_uniform(), static_cast<int>(random.below(19)) - 10);
      return std::min(size, 448.0) * (random.below(2) == 0 ? 1 : -1);
    }
    case Fill::ids:
      return static_cast<double>(random.below(static_cast<std::uint64_t>(one.call.in(1).shape[0])));
    case Fill::few_ids:
      return static_cast<double>(random.below(20));
    case Fill::labels:
      return (row * argument.width() + column) % 3 == 2
                 ? -100
                 : static_cast<double>(random.below(static_cast<std::uint64_t>(one.call.in(0).width())));
    case Fill::lengths:
      return held_tokens(one.call, row * argument.width() + column);
    case Fill::offsets: {
      const double share = static_cast<double>(column) / static_cast<double>(argument.width() - 1);
      return std::floor(static_cast<double>(one.call.in(0).rows()) * share * share);
    }
    case Fill::reversed:
      return static_cast<double>(argument.width() - 1 - column);
    case Fill::with_zeros:
      return row % 3 == 2 ? 0 : random.next_normal();
    default:
      return mask_value(one.fills[index], argument, row, column, random);
  }
}

/// Whether a block begins with an f32 that all of its values are multiples of, or quotients.
bool begins_with_f32(const BlockFormat& format) {
  return !format.table.empty() || std::string_view(format.name).ends_with("f32");
}

float largest_magnitude(const BlockFormat& format, const std::byte* block) {
  float values[most_block_elements];
  expand_block(format, block, values);
  float most = 0;
  for (std::int64_t i = 0; i < format.elements; ++i) most = std::max(most, std::abs(values[i]));
  return most;
}

/// Of f32 scales at random most are nothing beside a few, on whose rounding to 16 bits all would hang.
void fill_scale(const BlockFormat& format, Random& random, std::byte* block) {
  if (!begins_with_f32(format)) return;
  float scale = 1;
  std::memcpy(block, &scale, sizeof(scale));
  const float wanted = 1 + 2 * static_cast<float>(random.next_uniform());
  const float share = wanted / largest_magnitude(format, block);
  const bool divides = format.group < format.elements;
  scale = divides ? 1 / share : share;
  std::memcpy(block, &scale, sizeof(scale));
}

/// Any bytes are a block, but of most the scales are beyond what a weight has, or no numbers, or all values have one
/// sign.
void fill_block(const BlockFormat& format, Random& random, std::byte* block) {
  constexpr float largest = 4;
  float values[most_block_elements];
  const auto is_usual = [&] {
    const auto [least, most] = std::minmax_element(values, values + format.elements);
    return *least < 0 && *most > 0 &&
           std::all_of(values, values + format.elements, [](float value) { return std::abs(value) <= largest; });
  };
  do {
    for (std::int64_t i = 0; i < format.bytes; ++i) block[i] = static_cast<std::byte>(random.below(256));
    fill_scale(format, random, block);
    expand_block(format, block, values);
  } while (!is_usual());
}

}  // namespace

GuardedBuffer make_buffer(const Argument& argument) {
  GuardedBuffer buffer;
  buffer.lead = lead_of(argument);
  buffer.elements = span_of(argument);
  buffer.element_bytes = size_of(argument.dtype);
  buffer.memory = Tensor(argument.dtype, {buffer.total()});
  std::fill_n(buffer.memory.data(), buffer.memory.bytes(), guard_byte);
  return buffer;
}

GuardedBuffer make_input(const Case& one, std::size_t index) {
  const Argument& argument = one.call.in(index);
  GuardedBuffer buffer = make_buffer(argument);
  Random random(0x5eed, index);
  if (one.fills[index] == Fill::blocks) {
    const BlockFormat& format = *one.call.attributes.blocks;
    for (std::int64_t at = 0; at < buffer.elements; at += format.bytes) fill_block(format, random, buffer.data() + at);
    return buffer;
  }
  const std::int64_t total = buffer.total();
  const double gap = is_float(argument.dtype) ? std::numeric_limits<double>::quiet_NaN() : 1;
  std::vector<double> values(static_cast<std::size_t>(total), gap);
  for (std::int64_t row = 0; row < argument.rows(); ++row) {
    for (std::int64_t column = 0; column < argument.width(); ++column)
      values[static_cast<std::size_t>(buffer.lead + row * argument.row_stride + column)] =
          value_of(one, index, row, column, random);
  }
  convert(DType::f64, values.data(), argument.dtype, buffer.memory.data(), values.size());
  return buffer;
}

void copy_rows(const Argument& argument, const GuardedBuffer& from, GuardedBuffer& to) {
  const std::size_t row_bytes = static_cast<std::size_t>(argument.width()) * from.element_bytes;
  const std::size_t stride_bytes = static_cast<std::size_t>(argument.row_stride) * from.element_bytes;
  for (std::size_t row = 0; row < static_cast<std::size_t>(argument.rows()); ++row)
    std::memcpy(to.data() + row * stride_bytes, from.data() + row * stride_bytes, row_bytes);
}

std::string check_gaps(const Argument& argument, const GuardedBuffer& buffer) {
  const auto bytes = static_cast<std::int64_t>(buffer.element_bytes);
  for (std::int64_t element = 0; element < buffer.total(); ++element) {
    const std::int64_t inside = element - buffer.lead;
    const bool in_row = inside >= 0 && inside < buffer.elements && inside % argument.row_stride < argument.width();
    if (in_row) continue;
    const std::byte* first = buffer.memory.data() + element * bytes;
    if (std::any_of(first, first + bytes, [](std::byte b) { return b != guard_byte; }))
      return fmt::format("element {} outside the rows was written", inside);
  }
  return "";
}

}  // namespace assay::contract
