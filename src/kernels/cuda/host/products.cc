#include <fmt/format.h>

#include "kernels/cuda/host/library_linear.h"

// Linear layers and their gradients. A row-major (rows, width) tensor is a (width, rows) matrix of the library's, so
//   y = x W^T:  Y = W^T X      dx = dy W:  DX = W DY      dW = dy^T x:  DW = X DY^T
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

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

/// The weight as the product multiplies it: itself, or rounded to the operand dtype in the workspace at every run.
struct RoundedWeight {
  std::shared_ptr<const Kernel> cast;  ///< Null: the weight has the operand's dtype.
  std::size_t bytes = 0;               ///< Of workspace.

  RoundedWeight(const Argument& weight, DType operand) {
    if (stored_as(weight.dtype) == stored_as(operand)) return;
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

/// Of what the library has. Its relu takes the larger of 0 and x, which makes 0 of NaN.
bool is_in_epilogue(Activation activation) {
  return activation == Activation::none || activation == Activation::gelu_tanh;
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
    finish(finish_in_place(call, at));
  }
};

/// The same with bias and activation inside the product; the bias in y's dtype and aligned, copied where it is not.
struct FusedLinear {
  LinearCall call;
  RoundedWeight weight;
  std::shared_ptr<const Product> product;
  std::shared_ptr<const Kernel> bias_cast;  ///< To y's dtype; null: there is no bias.
  std::size_t bias_bytes = 0;

  void run(const Memory& memory) const {
    const LinearMemory at = linear_memory(call, memory);
    const std::byte* w = weight.at(at.weight, memory.workspace);
    std::byte* behind = memory.workspace + weight.bytes;
    const std::byte* bias = at.bias;
    if (call.has_bias && !fits(at.bias)) {
      run_cast(*bias_cast, at.bias, behind);
      bias = behind;
    }
    product->run({w, at.x, at.y, nullptr, bias, behind + bias_bytes});
  }
  bool fits(const std::byte* bias) const {
    return stored_as(call.bias) == stored_as(call.y) && reinterpret_cast<std::uintptr_t>(bias) % bias_alignment == 0;
  }
};

/// A bias or activation that the library adds before it rounds, where it has an algorithm that does.
Offer prepare_fused(const LinearCall& linear, const RoundedWeight& weight, DType operand) {
  ProductShape shape = shape_of(linear, operand);
  shape.has_bias = linear.has_bias;
  shape.activation = linear.activation;
  auto made = Product::make(shape);
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  FusedLinear fused{linear, weight, std::get<std::shared_ptr<const Product>>(made), nullptr, 0};
  if (linear.has_bias) {
    fused.bias_cast = cast_kernel(linear.bias, linear.y, linear.out);
    fused.bias_bytes = aligned(static_cast<std::size_t>(linear.out) * size_of(linear.y));
  }
  Prepared prepared = offer_library(*fused.product, weight.bytes + fused.bias_bytes + fused.product->workspace_bytes());
  if (linear.has_bias || linear.activation != Activation::none) prepared.description += "; bias and activation inside";
  prepared.kernel = make_kernel([fused](const Memory& memory) { fused.run(memory); });
  return prepared;
}

std::string linear_fault(const LinearCall& linear, DType operand) {
  if (linear.rows == 0) return "there are no rows";
  if (linear.accumulator == DType::f16) return "cuBLASLt's f16 sums know no chunks";
  if (stored_as(linear.x) != stored_as(operand))
    return fmt::format("x is {} and W {}", name(linear.x), name(linear.weight));
  if (!is_storable(operand, linear.y))
    return fmt::format("{} products are not stored as {}", name(operand), name(linear.y));
  return "";
}

}  // namespace

Offer prepare_library_linear(const Call& call, const MachineFacts&) {
  const LinearCall linear = linear_call(call);
  const DType operand = asked_operand(call);
  if (const std::string fault = linear_fault(linear, operand); !fault.empty()) return Declined{fault};
  const RoundedWeight weight(call.in(1), operand);
  if (is_in_epilogue(linear.activation)) {
    Offer fused = prepare_fused(linear, weight, operand);
    if (std::holds_alternative<Prepared>(fused)) return fused;
  }
  auto made = Product::make(shape_of(linear, operand));
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  const LibraryLinear plain{linear, weight, std::get<std::shared_ptr<const Product>>(made)};
  Prepared prepared = offer_library(*plain.product, weight.bytes + plain.product->workspace_bytes());
  prepared.description += "; bias and activation behind it";
  prepared.kernel = make_kernel([plain](const Memory& memory) { plain.run(memory); });
  return prepared;
}

Offer prepare_library_linear_input_gradient(const Call& call, const MachineFacts&) {
  const DType operand = asked_operand(call);
  if (const char* fault = fault_of_input_gradient(call, 2)) return Declined{fault};
  if (size_of(call.in(1).dtype) < size_of(call.in(0).dtype)) return Declined{"W is narrower than dy"};
  const RoundedWeight weight(call.in(1), operand);
  auto made = Product::make(input_gradient_shape(call, 2, operand));
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  const auto product = std::get<std::shared_ptr<const Product>>(made);
  Prepared prepared = offer_library(*product, weight.bytes + product->workspace_bytes());
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
  if (stored_as(x.dtype) != stored_as(dy.dtype))
    return Declined{fmt::format("dy is {} and x {}", name(dy.dtype), name(x.dtype))};
  if (!is_storable(dy.dtype, dw.dtype)) return Declined{"dW is neither f32 nor of dy's dtype"};
  ProductShape shape;
  const DType operand = asked_operand(call);
  shape.a = {operand, x.width(), x.rows(), x.row_stride};
  shape.b = {operand, dy.width(), dy.rows(), dy.row_stride};
  shape.c = {dw.dtype, x.width(), dy.width(), dw.row_stride};
  shape.b_turned = Turned::yes;
  auto made = Product::make(shape);
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  const auto product = std::get<std::shared_ptr<const Product>>(made);
  Prepared prepared = offer_library(*product, product->workspace_bytes());
  prepared.kernel = make_kernel([product](const Memory& memory) {
    product->run({memory.in<std::byte>(1), memory.in<std::byte>(0), memory.out<std::byte>(0), nullptr, nullptr,
                  memory.workspace});
  });
  return prepared;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
