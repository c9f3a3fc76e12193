#include <fmt/format.h>

#include "kernels/block_linear.h"
#include "kernels/cuda/host/library_linear.h"
#include "kernels/cuda/widen_weight.h"

// Linear layers and their input gradients with weights of few bits, which a kernel of ours writes to the workspace at
// every run, in the dtype of what they are multiplied with.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

/// A weight in the workspace, in front of the library's.
struct WidenedWeight {
  WeightWidener write;
  DType dtype = DType::f32;
  std::int64_t out = 0;
  std::int64_t in = 0;
  const char* words = "";

  std::size_t bytes() const { return aligned(static_cast<std::size_t>(in * out) * size_of(dtype)); }
  const std::byte* at(const Memory& memory) const {
    write(memory, {memory.workspace, dtype, out, in});
    return memory.workspace;
  }
};

Prepared offer_product_of(const Product& product, const WidenedWeight& weight) {
  Prepared prepared = offer_library(product, weight.bytes() + product.workspace_bytes());
  prepared.description += fmt::format("; {} widened at every run", weight.words);
  return prepared;
}

Offer prepare_widened(const LinearCall& linear, const WeightWidener& write, const char* words) {
  if (linear.rows == 0) return Declined{"there are no rows"};
  if (!is_storable(linear.x, linear.y)) return Declined{"y is neither f32 nor of x's dtype"};
  auto made = Product::make(shape_of(linear, linear.x));
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  const auto product = std::get<std::shared_ptr<const Product>>(made);
  const WidenedWeight weight{write, linear.x, linear.out, linear.in, words};
  Prepared prepared = offer_product_of(*product, weight);
  prepared.kernel = make_kernel([linear, product, weight](const Memory& memory) {
    const LinearMemory at = linear_memory(linear, memory);
    product->run({weight.at(memory), at.x, at.y, nullptr, nullptr, memory.workspace + weight.bytes()});
    if (linear.has_bias || linear.activation != Activation::none) finish(finish_in_place(linear, at));
  });
  return prepared;
}

/// `onto`: its place among the inputs.
Offer prepare_widened_input_gradient(const Call& call, std::size_t onto, const WeightWidener& write,
                                     const char* words) {
  const Argument& dy = call.in(0);
  const Argument& dx = call.out(0);
  if (const char* fault = fault_of_input_gradient(call, onto)) return Declined{fault};
  const WidenedWeight weight{write, dy.dtype, call.in(1).shape[0], dx.width(), words};
  auto made = Product::make(input_gradient_shape(call, onto, dy.dtype));
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  const auto product = std::get<std::shared_ptr<const Product>>(made);
  Prepared prepared = offer_product_of(*product, weight);
  prepared.kernel = make_kernel([weight, product, onto](const Memory& memory) {
    product->run({weight.at(memory), memory.in<std::byte>(0), memory.out<std::byte>(0), memory.in<std::byte>(onto),
                  nullptr, memory.workspace + weight.bytes()});
  });
  return prepared;
}

}  // namespace

Offer prepare_library_widened_linear(const Call& call, const MachineFacts&) {
  const LinearCall linear = quantized_linear_call(call);
  if (linear.has_x_scale) return Declined{"activations are quantised too"};
  return prepare_widened(linear, widener_of_bytes(call, 2, 3), "s8 weights");
}

Offer prepare_library_block_linear(const Call& call, const MachineFacts&) {
  return prepare_widened(block_linear_call(call), widener_of_blocks(call), call.attributes.blocks->name);
}

Offer prepare_library_block_linear_input_gradient(const Call& call, const MachineFacts&) {
  return prepare_widened_input_gradient(call, 2, widener_of_blocks(call), call.attributes.blocks->name);
}

Offer prepare_library_quantized_linear_input_gradient(const Call& call, const MachineFacts&) {
  return prepare_widened_input_gradient(call, 3, widener_of_bytes(call, 1, 2), "s8 weights");
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
