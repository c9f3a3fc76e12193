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

/// The other way round: codes plus `zero` to halves.
void join_stretches(const std::int8_t* codes, int count, int zero, std::byte* halves) {
  for (int at = 0; at < count; at += 32, halves += 16, codes += 32) {
    for (int i = 0; i < 16; ++i) halves[i] = static_cast<std::byte>((codes[i] + zero) | ((codes[i + 16] + zero) << 4));
  }
}

template <typename Scale>
void put_scale(float scale, std::byte* block) {
  std::memcpy(block, &scale, sizeof(scale));
}
template <>
void put_scale<f16>(float scale, std::byte* block) {
  const f16 narrow = to_f16(scale);
  std::memcpy(block, &narrow, sizeof(narrow));
}

}  // namespace

template <int bits, int group, typename Scale, Zero zero>
void GroupBlock<bits, group, Scale, zero>::decode(const std::byte* block, GroupedCodes& out) {
  const float scale = scale_of<Scale>(block);
  out.scales[0] = scale;
  out.minima[0] = 0;
  if constexpr (bits == 4) {
    constexpr auto zero_bits = std::byte{0x1F};
    const int stored = zero == Zero::stored ? static_cast<int>(block[zero_at] & zero_bits) : 8;
    split_stretches(block + codes_at, group, stored, out.codes.data());
  } else {
    std::memcpy(out.codes.data(), block + codes_at, group);
    if constexpr (zero == Zero::stored)
      out.minima[0] = scale * static_cast<float>(static_cast<std::int8_t>(block[zero_at]));
  }
}

template <int bits, int group, typename Scale, Zero zero>
void GroupBlock<bits, group, Scale, zero>::write(float scale, int zero_point, const std::int8_t* codes,
                                                 std::byte* block) {
  put_scale<Scale>(scale, block);
  if constexpr (zero == Zero::stored) block[zero_at] = static_cast<std::byte>(zero_point);
  if constexpr (bits == 4) {
    join_stretches(codes, group, zero == Zero::stored ? 0 : 8, block + codes_at);
  } else {
    std::memcpy(block + codes_at, codes, group);
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
