#pragma once

#include "kernels/cuda/dequantize.h"
#include "kernels/cuda/host/cublaslt.h"
#include "kernels/cuda/host/products.h"
#include "kernels/linear.h"
#include "kernels/quantized_linear.h"
#include "kernels/verdict.h"

/// What linear layers by the library and quantised ones share.
namespace assay::ASSAY_CUDA_NAMESPACE {

/// Parts of the workspace begin at multiples of it.
inline std::size_t aligned(std::size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

inline bool is_storable(DType operand, DType result) {
  return stored_as(result) == DType::f32 || (result == operand && size_of(operand) > 1);
}

/// y = x W^T, bias and activation left out.
inline ProductShape shape_of(const LinearCall& call, DType operand) {
  ProductShape shape;
  shape.a = {operand, call.in, call.out, call.in};
  shape.b = {operand, call.in, call.rows, call.x_stride};
  shape.c = {call.y, call.out, call.rows, call.y_stride};
  shape.a_turned = Turned::yes;
  return shape;
}

/// dx = dy W + onto. `onto`: its place among the inputs.
inline ProductShape input_gradient_shape(const Call& call, std::size_t onto, DType operand) {
  const Argument& dy = call.in(0);
  const Argument& dx = call.out(0);
  ProductShape shape;
  shape.a = {operand, dx.width(), dy.width(), dx.width()};
  shape.b = {operand, dy.width(), dy.rows(), dy.row_stride};
  shape.c = {dx.dtype, dx.width(), dy.rows(), dx.row_stride};
  shape.beta = call.in(onto).present ? 1 : 0;
  shape.onto_stride = call.in(onto).row_stride;
  return shape;
}

/// Why the library does not write such a gradient; null where it may.
inline const char* fault_of_input_gradient(const Call& call, std::size_t place_of_onto) {
  const Argument& dy = call.in(0);
  const Argument& onto = call.in(place_of_onto);
  const Argument& dx = call.out(0);
  if (dy.rows() == 0) return "there are no rows";
  if (!is_storable(dy.dtype, dx.dtype)) return "dx is neither f32 nor of dy's dtype";
  if (onto.present && stored_as(onto.dtype) != stored_as(dx.dtype)) return "what dx is added to has another dtype";
  if (onto.present && onto.row_stride != dx.row_stride) return "what dx is added to has another stride";
  return nullptr;
}

inline Prepared offer_library(const Product& product, std::size_t workspace_bytes) {
  Prepared prepared;
  prepared.description = product.description();
  prepared.operand = product.operand();
  prepared.accumulator = accumulator_of(product.operand());
  prepared.workspace_bytes = workspace_bytes;
  return prepared;
}

/// Bias and activation where y holds the sums already.
inline Finish finish_in_place(const LinearCall& call, const LinearMemory& at) {
  return {.sums = at.y,
          .sums_dtype = call.y,
          .bias = at.bias,
          .bias_dtype = call.bias,
          .y = at.y,
          .y_dtype = call.y,
          .rows = call.rows,
          .width = call.out,
          .sums_stride = call.y_stride,
          .y_stride = call.y_stride,
          .activation = call.activation};
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
