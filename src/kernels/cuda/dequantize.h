#pragma once

#include "kernels/cuda/launch.h"

namespace assay::ASSAY_CUDA_NAMESPACE {

/// What is left to do when the products of a linear have been summed up:
///
///   y = f(sums [* x_scale] [* w_scale] + bias)    sums: (rows, width) s32 or f32, or y itself, y: (rows, width)
struct Finish {
  const std::byte* sums = nullptr;
  DType sums_dtype = DType::s32;
  const float* x_scale = nullptr;  ///< (rows)
  const float* w_scale = nullptr;  ///< (width)
  const std::byte* bias = nullptr;
  DType bias_dtype = DType::f32;
  std::byte* y = nullptr;
  DType y_dtype = DType::f32;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::int64_t sums_stride = 0;
  std::int64_t y_stride = 0;
  Activation activation = Activation::none;
};
void finish(const Finish& work);

/// How the library and a kernel of ours share a product of 8-bit operands: the library takes rows of W in steps only.
struct SharedOutputs {
  std::int64_t by_library = 0;   ///< W's first rows.
  std::int64_t sums_stride = 0;  ///< Of (rows, out) sums, in steps too.
};
constexpr SharedOutputs shared_outputs(std::int64_t out, std::int64_t step) {
  return {out / step * step, (out + step - 1) / step * step};
}

/// sums[:, first:] = x W[first:]^T    x: (rows, in), W: (out, in), sums: (rows, out); s8 are summed in s32, e4m3 in f32
struct RestOfSums {
  DType operand = DType::s8;
  const std::byte* x = nullptr;
  const std::byte* w = nullptr;
  std::byte* sums = nullptr;
  std::int64_t rows = 0;
  std::int64_t in = 0;
  std::int64_t x_stride = 0;
  std::int64_t sums_stride = 0;
  std::int64_t first = 0;
  std::int64_t out = 0;
};
void sum_rest(const RestOfSums& work);

}  // namespace assay::ASSAY_CUDA_NAMESPACE
