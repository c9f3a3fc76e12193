#include "kernels/reference/access.h"

#include <algorithm>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "tensor/small_float.h"

namespace assay::reference {
namespace {

template <typename T>
T at(const std::byte* data, std::int64_t index) {
  return reinterpret_cast<const T*>(data)[index];
}

template <typename T>
void put(std::byte* data, std::int64_t index, T value) {
  reinterpret_cast<T*>(data)[index] = value;
}

template <typename T>
T to_integer(double value) {
  if (std::isnan(value)) return 0;
  constexpr double lowest = std::numeric_limits<T>::lowest();
  constexpr double highest = std::numeric_limits<T>::max();
  return static_cast<T>(std::clamp(std::nearbyint(value), lowest, highest));
}

}  // namespace

double load(DType dtype, const std::byte* data, std::int64_t index) {
  switch (dtype) {
    case DType::f64:
      return at<double>(data, index);
    case DType::f32:
    case DType::tf32:
      return at<float>(data, index);
    case DType::f16:
      return decode(at<std::uint16_t>(data, index), f16_format);
    case DType::bf16:
      return decode(at<std::uint16_t>(data, index), bf16_format);
    case DType::e4m3:
      return decode(at<std::uint8_t>(data, index), e4m3_format);
    case DType::e5m2:
      return decode(at<std::uint8_t>(data, index), e5m2_format);
    case DType::s32:
      return at<std::int32_t>(data, index);
    case DType::s8:
      return at<std::int8_t>(data, index);
    case DType::u8:
      return at<std::uint8_t>(data, index);
  }
  ASSAY_ASSERT(!"a dtype");
  return 0;
}

void store(DType dtype, std::byte* data, std::int64_t index, double value) {
  switch (dtype) {
    case DType::f64:
      return put(data, index, value);
    case DType::f32:
    case DType::tf32:
      return put(data, index, static_cast<float>(value));
    case DType::f16:
      return put(data, index, static_cast<std::uint16_t>(encode(value, f16_format)));
    case DType::bf16:
      return put(data, index, static_cast<std::uint16_t>(encode(value, bf16_format)));
    case DType::e4m3:
      return put(data, index, static_cast<std::uint8_t>(encode(value, e4m3_format)));
    case DType::e5m2:
      return put(data, index, static_cast<std::uint8_t>(encode(value, e5m2_format)));
    case DType::s32:
      return put(data, index, to_integer<std::int32_t>(value));
    case DType::s8:
      return put(data, index, to_integer<std::int8_t>(value));
    case DType::u8:
      return put(data, index, to_integer<std::uint8_t>(value));
  }
  ASSAY_ASSERT(!"a dtype");
}

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::gelu_erf:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::gelu_tanh:  // Hendrycks & Gimpel 2016
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
  }
  ASSAY_ASSERT(!"an activation");
  return 0;
}

}  // namespace assay::reference
