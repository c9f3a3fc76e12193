#pragma once

#include <bit>
#include <cstddef>
#include <cstring>

#include "tensor/dtype.h"

namespace assay {

/// The f16 that lies `offset` bytes into a block, at whatever address. What a scale usually is, a normal number, is
/// made here: of small blocks it is much of the work.
inline float f16_at(const std::byte* block, std::size_t offset) {
  f16 value;
  std::memcpy(&value, block + offset, sizeof(value));
  const std::uint32_t exponent = (value.bits >> 10) & 31U;
  if (exponent == 0 || exponent == 31) return to_f32(value);
  const std::uint32_t sign = (value.bits & 0x8000U) << 16;
  return std::bit_cast<float>(sign | (((value.bits & 0x7FFFU) << 13) + (112U << 23)));
}

}  // namespace assay
