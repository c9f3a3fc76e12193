#include "tensor/block_format.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/error.h"
#include "base/threads.h"

namespace assay {
namespace {

/// Some 0.3 ms of work, so that a thread that waits for a busy core costs little beside it.
constexpr std::int64_t block_values_worth_a_thread = 262'144;

std::int64_t blocks_worth_a_thread(const BlockFormat& format) {
  return block_values_worth_a_thread / format.elements;
}

}  // namespace

std::span<const BlockFormat* const> block_formats() {
  using namespace blocks;
  static constexpr const BlockFormat* formats[] = {
      &q8_0,           &q4_0,          &q4_1,          &q5_0,           &q5_1,          &q2_k,          &q3_k,
      &q4_k,           &q5_k,          &q6_k,          &iq4_nl,         &iq4_xs,        &mxfp4,         &nvfp4,
      &int4_g64,       &int4_g128,     &int4z_g32,     &int4z_g64,      &int4z_g128,    &int4_g32_f32,  &int4_g64_f32,
      &int4_g128_f32,  &int4z_g32_f32, &int4z_g64_f32, &int4z_g128_f32, &int8_g64,      &int8_g128,     &int8z_g32,
      &int8z_g64,      &int8z_g128,    &int8_g32_f32,  &int8_g64_f32,   &int8_g128_f32, &int8z_g32_f32, &int8z_g64_f32,
      &int8z_g128_f32, &e4m3_g32,      &e4m3_g64,      &e4m3_g128,      &nf4_g32,       &nf4_g64,       &nf4_g128,
      &fp4_g32,        &fp4_g64,       &fp4_g128,      &nvfp4_x32,      &nvfp4_x64};
  return formats;
}

void expand_codes(const BlockFormat& format, const GroupedCodes& codes, float* out) {
  const std::int8_t* code = codes.codes.data();
  const float* values = format.table.empty() ? nullptr : format.table.data();
  for (std::size_t group = 0; group < static_cast<std::size_t>(format.elements / format.group); ++group) {
    const float scale = codes.scales[group];
    const float minimum = codes.minima[group];
    for (std::int64_t i = 0; i < format.group; ++i) {
      const float value = values == nullptr ? static_cast<float>(code[i]) : values[static_cast<std::uint8_t>(code[i])];
      out[i] = scale * value - minimum;
    }
    code += format.group;
    out += format.group;
  }
}

void expand_block(const BlockFormat& format, const std::byte* block, float* out) {
  GroupedCodes codes;
  format.decode(block, codes);
  expand_codes(format, codes, out);
}

void expand_blocks(const BlockFormat& format, std::span<const std::byte> blocks, std::span<float> out) {
  ASSAY_ASSERT(std::ssize(out) % format.elements == 0 && std::ssize(blocks) == format.bytes_of(std::ssize(out)));
  parallel_for(std::ssize(out) / format.elements, blocks_worth_a_thread(format),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i)
                   expand_block(format, blocks.data() + i * format.bytes, out.data() + i * format.elements);
               });
}

bool blocks_are_finite(const BlockFormat& format, std::span<const std::byte> blocks) {
  std::atomic<bool> finite = true;
  parallel_for(std::ssize(blocks) / format.bytes, blocks_worth_a_thread(format),
               [&](std::int64_t begin, std::int64_t end) {
                 float values[most_block_elements];
                 for (std::int64_t i = begin; i < end && finite; ++i) {
                   expand_block(format, blocks.data() + i * format.bytes, values);
                   if (!std::all_of(values, values + format.elements, [](float x) { return std::isfinite(x); }))
                     finite = false;
                 }
               });
  return finite;
}

}  // namespace assay
