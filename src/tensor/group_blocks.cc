#include "tensor/group_blocks.h"

#include <cstring>

#include "tensor/f16_scale.h"

namespace assay {
namespace {

template <typename Scale>
float scale_of(const std::byte* block) {
  Scale scale;
  std::memcpy(&scale, block, sizeof(scale));
  return scale;
}
template <>
float scale_of<f16>(const std::byte* block) {
  return f16_at(block, 0);
}

/// Codes less `zero`.
void split_stretches(const std::byte* halves, int count, int zero, std::int8_t* codes) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(halves);
  for (int at = 0; at < count; at += 32, bytes += 16, codes += 32) {
#pragma omp simd
    for (int i = 0; i < 16; ++i) {
      codes[i] = static_cast<std::int8_t>((bytes[i] & 0x0F) - zero);
      codes[i + 16] = static_cast<std::int8_t>((bytes[i] >> 4) - zero);
    }
  }
}

}  // namespace

template <int bits, int group, typename Scale, Zero zero>
void GroupBlock<bits, group, Scale, zero>::decode(const std::byte* block, GroupedCodes& out) {
  const float scale = scale_of<Scale>(block);
  out.scales[0] = scale;
  out.minima[0] = 0;
  if constexpr (bits == 4) {
    const int stored = zero == Zero::stored ? static_cast<int>(block[zero_at]) : 8;
    split_stretches(block + codes_at, group, stored, out.codes.data());
  } else {
    std::memcpy(out.codes.data(), block + codes_at, group);
    if constexpr (zero == Zero::stored)
      out.minima[0] = scale * static_cast<float>(static_cast<std::int8_t>(block[zero_at]));
  }
}

#define ASSAY_GROUPS(bits, Scale, zero)              \
  template struct GroupBlock<bits, 32, Scale, zero>; \
  template struct GroupBlock<bits, 64, Scale, zero>; \
  template struct GroupBlock<bits, 128, Scale, zero>;
ASSAY_GROUPS(4, f16, Zero::middle)
ASSAY_GROUPS(4, f16, Zero::stored)
ASSAY_GROUPS(4, float, Zero::middle)
ASSAY_GROUPS(4, float, Zero::stored)
ASSAY_GROUPS(8, f16, Zero::middle)
ASSAY_GROUPS(8, f16, Zero::stored)
ASSAY_GROUPS(8, float, Zero::middle)
ASSAY_GROUPS(8, float, Zero::stored)
#undef ASSAY_GROUPS

}  // namespace assay
