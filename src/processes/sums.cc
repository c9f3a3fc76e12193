#include "processes/sums.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr std::size_t widened_at_once = 2048;  // 8 KiB of f32: stays in the first cache.

void add_floats(const float* values, float* sum, std::size_t count) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) sum[i] += values[i];
}

/// Calls body(first, count) for stretches that fit into a buffer on the stack.
template <typename Body>
void in_stretches(std::size_t count, const Body& body) {
  for (std::size_t first = 0; first < count; first += widened_at_once)
    body(first, std::min(widened_at_once, count - first));
}

}  // namespace

void add_to_f32(DType dtype, const std::byte* values, float* sum, std::size_t count) {
  if (dtype == DType::f32) return add_floats(reinterpret_cast<const float*>(values), sum, count);
  std::array<float, widened_at_once> wide;
  in_stretches(count, [&](std::size_t first, std::size_t stretch) {
    convert(dtype, values + first * size_of(dtype), DType::f32, wide.data(), stretch);
    add_floats(wide.data(), sum + first, stretch);
  });
}

void add_in(DType dtype, const std::byte* values, std::byte* sum, std::size_t count) {
  if (dtype == DType::f32) return add_to_f32(dtype, values, reinterpret_cast<float*>(sum), count);
  std::array<float, widened_at_once> wide;
  in_stretches(count, [&](std::size_t first, std::size_t stretch) {
    std::byte* const here = sum + first * size_of(dtype);
    convert(dtype, here, DType::f32, wide.data(), stretch);
    add_to_f32(dtype, values + first * size_of(dtype), wide.data(), stretch);
    convert(DType::f32, wide.data(), dtype, here, stretch);
  });
}

}  // namespace assay
