#pragma once

#include "kernels/cuda/launch.h"

namespace assay::ASSAY_CUDA_NAMESPACE {

/// What is left to do when the products of a linear have been summed up:
///
///   y = f(sums [* x_scale] [* w_scale] + bias)    sums: (rows, width) dense s32 or y itself, y: (rows, width)
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

/// w = q * scale    q: s8 (out, in), scale: (out), w: dense (out, in) of `dtype`
struct Widen {
  const std::byte* q = nullptr;
  const float* scale = nullptr;
  std::byte* w = nullptr;
  DType dtype = DType::f32;
  std::int64_t out = 0;
  std::int64_t in = 0;
};
void widen(const Widen& work);

/// How the library and a kernel of ours share an s8 product: the library takes rows of W in fours only.
struct WholeParts {
  std::int64_t by_library = 0;   ///< W's first rows.
  std::int64_t sums_stride = 0;  ///< Of (rows, out) s32 sums, in fours too.
};
constexpr WholeParts whole_parts(std::int64_t out) {
  return {out / 4 * 4, (out + 3) / 4 * 4};
}

/// sums[:, first:] = x W[first:]^T    x: s8 (rows, in), W: s8 (out, in), sums: s32 (rows, out)
struct WholeRest {
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
void sum_rest(const WholeRest& work);

}  // namespace assay::ASSAY_CUDA_NAMESPACE
