#include "kernels/cuda/products.h"

#include <fmt/format.h>

#include "base/error.h"
#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/dequantize.h"
#include "kernels/linear.h"
#include "kernels/quantized_linear.h"
#include "kernels/verdict.h"

// Linear layers and their gradients. A row-major (rows, width) tensor is a (width, rows) matrix of the library's, so
//   y = x W^T:  Y = W^T X      dx = dy W:  DX = W DY      dW = dy^T x:  DW = X DY^T
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

std::size_t aligned(std::size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

/// A cast of `count` neighbouring elements.
std::shared_ptr<const Kernel> cast_kernel(DType from, DType to, std::int64_t count) {
  const auto argument = [count](DType dtype) {
    return Argument{.present = true, .dtype = dtype, .shape = {1, count}, .row_stride = count, .packing = {}};
  };
  const Call call{&op::cast, {}, {argument(from)}, {argument(to)}, 1};
  return std::get<Prepared>(prepare_cast(call, {})).kernel;
}

void run_cast(const Kernel& cast, const std::byte* from, std::byte* to) {
  cast.run({{&from, 1}, {&to, 1}, nullptr});
}

bool is_storable(DType operand, DType result) {
  return result == DType::f32 || (result == operand && operand != DType::s8);
}

Prepared offer_library(const Product& product, DType operand, std::size_t workspace_bytes) {
  Prepared prepared;
  prepared.description = product.description();
  prepared.operand = operand;
  prepared.accumulator = accumulator_of(operand);
  prepared.workspace_bytes = workspace_bytes;
  return prepared;
}

/// The weight as the product multiplies it: itself, or rounded to the operand dtype in the workspace at every run.
struct RoundedWeight {
  std::shared_ptr<const Kernel> cast;  ///< Null: the weight has the operand's dtype.
  std::size_t bytes = 0;               ///< Of workspace.

  RoundedWeight(const Argument& weight, DType operand) {
    if (weight.dtype == operand) return;
    const std::int64_t count = element_count(weight.shape);
    cast = cast_kernel(weight.dtype, operand, count);
    bytes = aligned(static_cast<std::size_t>(count) * size_of(operand));
  }
  const std::byte* at(const std::byte* weight, std::byte* workspace) const {
    if (cast == nullptr) return weight;
    run_cast(*cast, weight, workspace);
    return workspace;
  }
};

bool is_in_epilogue(Activation activation) {
  return activation == Activation::none || activation == Activation::relu || activation == Activation::gelu_tanh;
}

/// Workspace: the rounded weight, then the library's.
struct LibraryLinear {
  LinearCall call;
  RoundedWeight weight;
  std::shared_ptr<const Product> product;

  void run(const Memory& memory) const {
    const LinearMemory at = linear_memory(call, memory);
    const std::byte* w = weight.at(at.weight, memory.workspace);
    product->run({w, at.x, at.y, nullptr, nullptr, memory.workspace + weight.bytes});
    if (!call.has_bias && call.activation == Activation::none) return;
    finish({.sums = at.y,
            .sums_dtype = call.y,
            .bias = at.bias,
            .bias_dtype = call.bias,
            .y = at.y,
            .y_dtype = call.y,
            .rows = call.rows,
            .width = call.out,
            .sums_stride = call.y_stride,
            .y_stride = call.y_stride,
            .activation = call.activation});
  }
};

/// The same with bias and activation inside the product; the bias in y's dtype.
struct FusedLinear {
  LinearCall call;
  RoundedWeight weight;
  std::shared_ptr<const Product> product;
  std::shared_ptr<const Kernel> bias_cast;  ///< Null: the bias has y's dtype, or there is none.
  std::size_t bias_bytes = 0;

  void run(const Memory& memory) const {
    const LinearMemory at = linear_memory(call, memory);
    const std::byte* w = weight.at(at.weight, memory.workspace);
    std::byte* behind = memory.workspace + weight.bytes;
    if (bias_cast != nullptr) run_cast(*bias_cast, at.bias, behind);
    product->run({w, at.x, at.y, nullptr, bias_cast != nullptr ? behind : at.bias, behind + bias_bytes});
  }
};

ProductShape shape_of(const LinearCall& call, DType operand) {
  ProductShape shape;
  shape.a = {operand, call.in, call.out, call.in};
  shape.b = {operand, call.in, call.rows, call.x_stride};
  shape.c = {call.y, call.out, call.rows, call.y_stride};
  shape.a_turned = Turned::yes;
  return shape;
}

/// A bias or activation that the library adds before it rounds, where it has an algorithm that does.
Offer prepare_fused(const LinearCall& linear, const RoundedWeight& weight, DType operand) {
  ProductShape shape = shape_of(linear, operand);
  shape.has_bias = linear.has_bias;
  shape.activation = linear.activation;
  auto made = Product::make(shape);
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  FusedLinear fused{linear, weight, std::get<std::shared_ptr<const Product>>(made), nullptr, 0};
  if (linear.has_bias && linear.bias != linear.y) {
    fused.bias_cast = cast_kernel(linear.bias, linear.y, linear.out);
    fused.bias_bytes = aligned(static_cast<std::size_t>(linear.out) * size_of(linear.y));
  }
  Prepared prepared =
      offer_library(*fused.product, operand, weight.bytes + fused.bias_bytes + fused.product->workspace_bytes());
  if (linear.has_bias || linear.activation != Activation::none) prepared.description += "; bias and activation inside";
  prepared.kernel = make_kernel([fused](const Memory& memory) { fused.run(memory); });
  return prepared;
}

std::string fault_of(const LinearCall& linear, DType operand) {
  if (linear.rows == 0) return "there are no rows";
  if (linear.accumulator == DType::f16) return "cuBLASLt's f16 sums know no chunks";
  if (linear.x != operand) return fmt::format("x is {} and W {}", name(linear.x), name(linear.weight));
  if (!is_storable(operand, linear.y))
    return fmt::format("{} products are not stored as {}", name(operand), name(linear.y));
  return "";
}

}  // namespace

Offer prepare_library_linear(const Call& call, const MachineFacts&) {
  const LinearCall linear = linear_call(call);
  const DType operand = asked_operand(call);
  if (const std::string fault = fault_of(linear, operand); !fault.empty()) return Declined{fault};
  const RoundedWeight weight(call.in(1), operand);
  if (is_in_epilogue(linear.activation)) {
    Offer fused = prepare_fused(linear, weight, operand);
    if (std::holds_alternative<Prepared>(fused)) return fused;
  }
  auto made = Product::make(shape_of(linear, operand));
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  const LibraryLinear plain{linear, weight, std::get<std::shared_ptr<const Product>>(made)};
  Prepared prepared = offer_library(*plain.product, operand, weight.bytes + plain.product->workspace_bytes());
  prepared.description += "; bias and activation behind it";
  prepared.kernel = make_kernel([plain](const Memory& memory) { plain.run(memory); });
  return prepared;
}

namespace {

/// s8 products summed in s32 in the workspace, then scaled.
Offer prepare_whole(const LinearCall& linear) {
  ProductShape shape = shape_of(linear, DType::s8);
  shape.c = {DType::s32, linear.out, linear.rows, linear.out};
  auto made = Product::make(shape);
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  const auto product = std::get<std::shared_ptr<const Product>>(made);
  const std::size_t sums_bytes = aligned(static_cast<std::size_t>(linear.rows * linear.out) * sizeof(std::int32_t));
  Prepared prepared = offer_library(*product, DType::s8, sums_bytes + product->workspace_bytes());
  prepared.kernel = make_kernel([linear, product, sums_bytes](const Memory& memory) {
    const LinearMemory at = linear_memory(linear, memory);
    product->run({at.weight, at.x, memory.workspace, nullptr, nullptr, memory.workspace + sums_bytes});
    finish({.sums = memory.workspace,
            .sums_dtype = DType::s32,
            .x_scale = at.x_scale,
            .w_scale = at.w_scale,
            .bias = at.bias,
            .bias_dtype = linear.bias,
            .y = at.y,
            .y_dtype = linear.y,
            .rows = linear.rows,
            .width = linear.out,
            .sums_stride = linear.out,
            .y_stride = linear.y_stride,
            .activation = linear.activation});
  });
  return prepared;
}

/// s8 weights widened to x's dtype in the workspace at every run.
Offer prepare_widened(const LinearCall& linear) {
  if (!is_storable(linear.x, linear.y)) return Declined{"y is neither f32 nor of x's dtype"};
  auto made = Product::make(shape_of(linear, linear.x));
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  const auto product = std::get<std::shared_ptr<const Product>>(made);
  const std::size_t weight_bytes = aligned(static_cast<std::size_t>(linear.in * linear.out) * size_of(linear.x));
  Prepared prepared = offer_library(*product, linear.x, weight_bytes + product->workspace_bytes());
  prepared.description += "; s8 weights widened at every run";
  prepared.kernel = make_kernel([linear, product, weight_bytes](const Memory& memory) {
    const LinearMemory at = linear_memory(linear, memory);
    widen({at.weight, at.w_scale, memory.workspace, linear.x, linear.out, linear.in});
    product->run({memory.workspace, at.x, at.y, nullptr, nullptr, memory.workspace + weight_bytes});
    finish({.sums = at.y,
            .sums_dtype = linear.y,
            .bias = at.bias,
            .bias_dtype = linear.bias,
            .y = at.y,
            .y_dtype = linear.y,
            .rows = linear.rows,
            .width = linear.out,
            .sums_stride = linear.y_stride,
            .y_stride = linear.y_stride,
            .activation = linear.activation});
  });
  return prepared;
}

}  // namespace

Offer prepare_library_quantized_linear(const Call& call, const MachineFacts&) {
  const LinearCall linear = quantized_linear_call(call);
  if (linear.rows == 0) return Declined{"there are no rows"};
  return linear.has_x_scale ? prepare_whole(linear) : prepare_widened(linear);
}

Offer prepare_library_linear_input_gradient(const Call& call, const MachineFacts&) {
  const Argument& dy = call.in(0);
  const Argument& onto = call.in(2);
  const Argument& dx = call.out(0);
  const std::int64_t out = call.in(1).shape[0];
  const std::int64_t in = call.in(1).shape[1];
  if (dy.rows() == 0) return Declined{"there are no rows"};
  if (!is_storable(dy.dtype, dx.dtype)) return Declined{"dx is neither f32 nor of dy's dtype"};
  if (onto.present && onto.dtype != dx.dtype) return Declined{"what dx is added to has another dtype"};
  if (size_of(call.in(1).dtype) < size_of(dy.dtype)) return Declined{"W is narrower than dy"};
  const RoundedWeight weight(call.in(1), dy.dtype);
  ProductShape shape;
  shape.a = {dy.dtype, in, out, in};
  shape.b = {dy.dtype, out, dy.rows(), dy.row_stride};
  shape.c = {dx.dtype, in, dy.rows(), dx.row_stride};
  shape.beta = onto.present ? 1 : 0;
  shape.onto_stride = onto.row_stride;
  auto made = Product::make(shape);
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  const auto product = std::get<std::shared_ptr<const Product>>(made);
  Prepared prepared = offer_library(*product, dy.dtype, weight.bytes + product->workspace_bytes());
  prepared.kernel = make_kernel([weight, product](const Memory& memory) {
    const std::byte* w = weight.at(memory.in<std::byte>(1), memory.workspace);
    product->run({w, memory.in<std::byte>(0), memory.out<std::byte>(0), memory.in<std::byte>(2), nullptr,
                  memory.workspace + weight.bytes});
  });
  return prepared;
}

Offer prepare_library_linear_weight_gradient(const Call& call, const MachineFacts&) {
  const Argument& dy = call.in(0);
  const Argument& x = call.in(1);
  const Argument& dw = call.out(0);
  if (dy.rows() == 0) return Declined{"there are no rows"};
  if (x.dtype != dy.dtype) return Declined{fmt::format("dy is {} and x {}", name(dy.dtype), name(x.dtype))};
  if (!is_storable(dy.dtype, dw.dtype)) return Declined{"dW is neither f32 nor of dy's dtype"};
  ProductShape shape;
  shape.a = {x.dtype, x.width(), x.rows(), x.row_stride};
  shape.b = {dy.dtype, dy.width(), dy.rows(), dy.row_stride};
  shape.c = {dw.dtype, x.width(), dy.width(), dw.row_stride};
  shape.b_turned = Turned::yes;
  auto made = Product::make(shape);
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  const auto product = std::get<std::shared_ptr<const Product>>(made);
  Prepared prepared = offer_library(*product, dy.dtype, product->workspace_bytes());
  prepared.kernel = make_kernel([product](const Memory& memory) {
    product->run({memory.in<std::byte>(1), memory.in<std::byte>(0), memory.out<std::byte>(0), nullptr, nullptr,
                  memory.workspace});
  });
  return prepared;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
