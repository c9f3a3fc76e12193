#include "tensor/table_blocks.h"

#include <cstring>

namespace assay {
namespace {

float f32_at(const std::byte* block) {
  float value;
  std::memcpy(&value, block, sizeof(value));
  return value;
}

void split_bits(const std::byte* halves, int count, std::int8_t* codes) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(halves);
  for (int at = 0; at < count; at += 32, bytes += 16, codes += 32) {
#pragma omp simd
    for (int i = 0; i < 16; ++i) {
      codes[i] = static_cast<std::int8_t>(bytes[i] & 0x0F);
      codes[i + 16] = static_cast<std::int8_t>(bytes[i] >> 4);
    }
  }
}

}  // namespace

template <int bits, int group>
void TableBlock<bits, group>::decode(const std::byte* block, GroupedCodes& out) {
  out.scales[0] = f32_at(block);
  out.minima[0] = 0;
  if constexpr (bits == 4) {
    split_bits(block + codes_at, group, out.codes.data());
  } else {
    std::memcpy(out.codes.data(), block + codes_at, group);
  }
}

template <int elements>
void GlobalScaleBlock<elements>::decode(const std::byte* block, GroupedCodes& out) {
  const float global = f32_at(block);
  const auto* scales = reinterpret_cast<const std::uint8_t*>(block) + scales_at;
  for (std::size_t i = 0; i < elements / group; ++i) {
    out.scales[i] = e4m3_values[scales[i]] / global;
    out.minima[i] = 0;
  }
  split_bits(block + codes_at, elements, out.codes.data());
}

template struct TableBlock<8, 32>;
template struct TableBlock<8, 64>;
template struct TableBlock<8, 128>;
template struct TableBlock<4, 32>;
template struct TableBlock<4, 64>;
template struct TableBlock<4, 128>;
template struct GlobalScaleBlock<32>;
template struct GlobalScaleBlock<64>;

}  // namespace assay
