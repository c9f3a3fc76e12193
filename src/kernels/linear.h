#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace assay {

/// Which input of the call is which; -1: the operation has no such input.
struct LinearPlaces {
  int x = 0;
  int x_scale = -1;
  int weight = 1;
  int w_scale = -1;
  int bias = 2;
};

/// A call of `linear` or what is like it, with a weight of 8 bits or in blocks, as its kernels see it:
///
///   y = f((x W^T) [* x_scale] [* w_scale] + bias)    x: (rows, in), W: (out, in), bias: (out), y: (rows, out)
///
/// x_scale: f32 (rows), beside blocks (rows, groups) and in each group's sum; w_scale: f32 (out). Strides count
/// elements between rows.
struct LinearCall {
  LinearPlaces places;
  std::int64_t rows = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t x_stride = 0;
  std::int64_t y_stride = 0;
  DType x = DType::f32;
  DType weight = DType::f32;
  DType bias = DType::f32;
  DType y = DType::f32;
  double y_scale = 0;  ///< Attributes::output_scale: of y in s8.
  bool has_bias = false;
  bool has_x_scale = false;
  bool has_w_scale = false;
  bool constant_weight = false;
  const BlockFormat* blocks = nullptr;  ///< What rows of W are, where they are no elements; `weight` is u8 then.
  Packing packing;                      ///< Of the weight, where that is settled; plain otherwise.
  Activation activation = Activation::none;
  DType accumulator = DType::f32;
  int chunk = 0;  ///< With an f16 accumulator: products added before the flush to f32.
  int threads = 1;
};

/// Checks shapes and dtypes against one another; throws a defect where the call contradicts itself.
LinearCall linear_call(const Call& call);

/// The tensors of a linear call at run time; absent ones are null.
struct LinearMemory {
  const std::byte* x = nullptr;
  const float* x_scale = nullptr;
  const std::byte* weight = nullptr;
  const float* w_scale = nullptr;
  const std::byte* bias = nullptr;
  std::byte* y = nullptr;
  std::byte* workspace = nullptr;
  std::int64_t rows = 0;
};
LinearMemory linear_memory(const LinearCall& call, const Memory& memory);

}  // namespace assay
