#pragma once

#include "kernels/cuda/access.h"
#include "kernels/float8_scale.h"

/// Scales of numbers of 8 bits: the largest power of two that keeps a tensor's largest magnitude within the format.
namespace assay::ASSAY_CUDA_NAMESPACE {

/// As float8_scale of kernels/float8_scale.h.
ON_DEVICE inline float power_of_two_scale(DType dtype, float largest) {
  if (!(largest > 0)) return 1;
  const auto bits = std::bit_cast<std::uint32_t>(largest);
  const int exponent = static_cast<int>(bits >> 23) - 127;
  if (exponent == 128) return 1;
  const int of_limit = dtype == DType::e4m3 ? 8 : 15;
  const int power = of_limit - exponent - ((bits & 0x7FFFFFU) > 0x600000U ? 1 : 0);
  const int kept = power < -100 ? -100 : power > 100 ? 100 : power;
  return std::bit_cast<float>(static_cast<std::uint32_t>(kept + 127) << 23);
}

ON_DEVICE inline bool is_finite(float value) {
  return fabsf(value) <= 3.4028234664e38F;
}

/// A matrix that is rounded, or whose rounded values become bytes.
struct Float8Matrix {
  In x;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  DType format = DType::e4m3;
};

/// Writes a matrix whose values are numbers of 8 bits times one power of two as bytes, exactly, and that power.
struct Float8Bytes {
  Float8Matrix from;
  enum class Order : std::uint8_t { rows, columns } order = Order::rows;  ///< What lies next to one another in `to`.
  std::byte* to = nullptr;   ///< (rows, stride), or (width, stride); zeros behind each stretch.
  std::int64_t stride = 0;   ///< A multiple of 8.
  float* inverse = nullptr;  ///< What the bytes are to be multiplied by; behind it, rows floats of scratch.
};
void write_float8(const Float8Bytes& work);

}  // namespace assay::ASSAY_CUDA_NAMESPACE
