#include "kernels/stripes.h"

#include <algorithm>
#include <cstring>

#include "tensor/f16_scale.h"

namespace assay {
namespace {

constexpr std::int64_t stripe_line = 64;
constexpr std::int64_t vector_rows_of_stripe = 16;

struct LaidFormat {
  const BlockFormat* format;
  StripeLayout layout;
};

constexpr auto scales16 = StripeScales::f16;
constexpr auto scales32 = StripeScales::f32;
constexpr auto in_pairs = StripeScales::f16_pair;
constexpr auto six_bits = StripeScales::six_bits;
// clang-format off
constexpr LaidFormat laid_formats[] = {
    // format                 bits scales    zeros  zero
    {&blocks::q4_0,           {4,  scales16, false, 8}},
    {&blocks::q4_1,           {4,  in_pairs, false, 0}},
    {&blocks::q4_k,           {4,  six_bits, false, 0}},
    {&blocks::q8_0,           {8,  scales16, false, 128}},
    {&blocks::int4_g64,       {4,  scales16, false, 8}},
    {&blocks::int4_g128,      {4,  scales16, false, 8}},
    {&blocks::int4_g32_f32,   {4,  scales32, false, 8}},
    {&blocks::int4_g64_f32,   {4,  scales32, false, 8}},
    {&blocks::int4_g128_f32,  {4,  scales32, false, 8}},
    {&blocks::int4z_g32,      {4,  scales16, true,  0}},
    {&blocks::int4z_g64,      {4,  scales16, true,  0}},
    {&blocks::int4z_g128,     {4,  scales16, true,  0}},
    {&blocks::int4z_g32_f32,  {4,  scales32, true,  0}},
    {&blocks::int4z_g64_f32,  {4,  scales32, true,  0}},
    {&blocks::int4z_g128_f32, {4,  scales32, true,  0}},
    {&blocks::int8_g64,       {8,  scales16, false, 128}},
    {&blocks::int8_g128,      {8,  scales16, false, 128}},
    {&blocks::int8_g32_f32,   {8,  scales32, false, 128}},
    {&blocks::int8_g64_f32,   {8,  scales32, false, 128}},
    {&blocks::int8_g128_f32,  {8,  scales32, false, 128}},
};
// clang-format on

/// Byte of input k of a row among its stretch's codes.
std::int64_t code_offset(const StripeLayout& layout, std::int64_t row, std::int64_t k) {
  const std::int64_t inputs = 32 / layout.bits;  // of one vector: 4 bytes
  const std::int64_t vector = k / inputs * 2 + row / vector_rows_of_stripe;
  return vector * stripe_line + row % vector_rows_of_stripe * 4 + k % 4;
}

bool is_high_half(const StripeLayout& layout, std::int64_t k) {
  return layout.bits == 4 && k % 8 >= 4;
}

/// What one block of a row has in the header; of Q4_K's twelve bytes the scales and minima are taken apart.
void put_scales(const BlockFormat& format, const StripeLayout& layout, const std::byte* block, std::int64_t row,
                std::byte* stripe) {
  if (layout.scales == in_pairs) {
    std::memcpy(stripe + row * 2, block, 2);
    std::memcpy(stripe + (stripe_rows + row) * 2, block + 2, 2);
    return;
  }
  if (layout.scales != six_bits) {
    const std::int64_t size = layout.scales == StripeScales::f16 ? 2 : 4;
    std::memcpy(stripe + row * size, block, static_cast<std::size_t>(size));
    if (layout.has_zero) stripe[layout.scale_bytes(format) + row] = block[size] & std::byte{0x1F};
    return;
  }
  std::memcpy(stripe + row * 2, block, 2);
  std::memcpy(stripe + (stripe_rows + row) * 2, block + 2, 2);
  std::byte* const sixes = stripe + 4 * stripe_rows + row;
  const auto* packed = reinterpret_cast<const std::uint8_t*>(block) + 4;
  for (std::int64_t i = 0; i < 4; ++i) {
    sixes[i * stripe_rows] = static_cast<std::byte>(packed[i] & 0x3F);
    sixes[(i + 4) * stripe_rows] = static_cast<std::byte>((packed[i + 8] & 0x0F) | ((packed[i] >> 2) & 0x30));
    sixes[(i + 8) * stripe_rows] = static_cast<std::byte>(packed[i + 4] & 0x3F);
    sixes[(i + 12) * stripe_rows] = static_cast<std::byte>((packed[i + 8] >> 4) | ((packed[i + 4] >> 2) & 0x30));
  }
}

int zero_of(const BlockFormat& format, const StripeLayout& layout, const std::byte* stripe, std::int64_t row) {
  return layout.has_zero ? static_cast<int>(stripe[layout.scale_bytes(format) + row]) : layout.zero;
}

void put_codes(const BlockFormat& format, const StripeLayout& layout, const GroupedCodes& codes, std::int64_t row,
               std::byte* stripe) {
  const int zero = zero_of(format, layout, stripe, row);
  for (std::int64_t i = 0; i < format.elements; ++i) {
    const auto code = static_cast<unsigned>(codes.codes[static_cast<std::size_t>(i)] + zero);
    const std::int64_t k = i % stretch_values;
    std::byte& place =
        stripe[layout.header_bytes(format) + i / stretch_values * layout.code_bytes() + code_offset(layout, row, k)];
    place |= static_cast<std::byte>(is_high_half(layout, k) ? code << 4 : code);
  }
}

void get_scales(const BlockFormat& format, const StripeLayout& layout, const std::byte* stripe, std::int64_t row,
                GroupedCodes& out) {
  const auto at = static_cast<std::size_t>(row);
  out.minima[0] = 0;
  if (layout.scales == StripeScales::f16) {
    out.scales[0] = f16_at(stripe, 2 * at);
  } else if (layout.scales == StripeScales::f32) {
    std::memcpy(&out.scales[0], stripe + 4 * at, 4);
  } else if (layout.scales == in_pairs) {
    out.scales[0] = f16_at(stripe, 2 * at);
    out.minima[0] = -f16_at(stripe, 2 * (stripe_rows + at));
  } else {
    const float d = f16_at(stripe, 2 * at);
    const float minimum = f16_at(stripe, 2 * (stripe_rows + at));
    const auto* sixes = reinterpret_cast<const std::uint8_t*>(stripe) + 4 * stripe_rows + row;
    const auto groups = static_cast<std::size_t>(format.elements / format.group);
    for (std::size_t i = 0; i < groups; ++i) {
      out.scales[i] = d * static_cast<float>(sixes[i * stripe_rows]);
      out.minima[i] = minimum * static_cast<float>(sixes[(i + groups) * stripe_rows]);
    }
  }
}

}  // namespace

std::int64_t StripeLayout::scale_bytes(const BlockFormat& format) const {
  if (scales == StripeScales::f16_pair) return stripe_rows * 4;
  if (scales != StripeScales::six_bits) return stripe_rows * (scales == StripeScales::f16 ? 2 : 4);
  return stripe_rows * (4 + 2 * format.elements / format.group);
}

std::int64_t StripeLayout::header_bytes(const BlockFormat& format) const {
  const std::int64_t used = scale_bytes(format) + (has_zero ? stripe_rows : 0);
  return (used + stripe_line - 1) / stripe_line * stripe_line;
}

std::optional<StripeLayout> stripe_layout(const BlockFormat& format) {
  const auto* found = std::find_if(std::begin(laid_formats), std::end(laid_formats),
                                   [&](const LaidFormat& one) { return one.format == &format; });
  if (found == std::end(laid_formats)) return std::nullopt;
  return found->layout;
}

std::int64_t stripe_bytes(const BlockFormat& format) {
  const std::optional<StripeLayout> layout = stripe_layout(format);
  if (!layout) return stripe_rows * format.bytes;
  return layout->header_bytes(format) + format.elements / stretch_values * layout->code_bytes();
}

void write_stripe(const BlockFormat& format, const std::byte* blocks, std::int64_t row_bytes, std::int64_t rows,
                  std::byte* stripe) {
  std::memset(stripe, 0, static_cast<std::size_t>(stripe_bytes(format)));
  const std::optional<StripeLayout> layout = stripe_layout(format);
  for (std::int64_t row = 0; row < rows; ++row, blocks += row_bytes) {
    if (!layout) {
      std::memcpy(stripe + row * format.bytes, blocks, static_cast<std::size_t>(format.bytes));
      continue;
    }
    GroupedCodes codes;
    format.decode(blocks, codes);
    put_scales(format, *layout, blocks, row, stripe);
    put_codes(format, *layout, codes, row, stripe);
  }
}

void decode_from_stripe(const BlockFormat& format, const std::byte* stripe, std::int64_t row, GroupedCodes& out) {
  const std::optional<StripeLayout> layout = stripe_layout(format);
  if (!layout) return format.decode(stripe + row * format.bytes, out);
  get_scales(format, *layout, stripe, row, out);
  const int zero = zero_of(format, *layout, stripe, row);
  const std::byte* codes = stripe + layout->header_bytes(format);
  for (std::int64_t i = 0; i < format.elements; ++i) {
    const std::int64_t k = i % stretch_values;
    const auto byte =
        static_cast<unsigned>(codes[i / stretch_values * layout->code_bytes() + code_offset(*layout, row, k)]);
    const unsigned code = layout->bits == 8 ? byte : is_high_half(*layout, k) ? byte >> 4 : byte & 0x0F;
    out.codes[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(static_cast<int>(code) - zero);
  }
}

}  // namespace assay
