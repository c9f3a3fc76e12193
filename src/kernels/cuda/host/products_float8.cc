#include <fmt/format.h>

#include "base/error.h"
#include "kernels/cuda/float8.h"
#include "kernels/cuda/host/library_linear.h"

// Linear layers and their gradients whose operands were rounded to 8 bits (round_float8, a scale a tensor): bytes are
// made of them in the workspace, exactly, and multiplied as such. The library takes operands whose inner axis is the
// fastest one alone, so that what is summed over lies so in both, zeros filling it up.
//   Y = W^T X      DX = V^T DY: V is W written by columns      DW = U^T V: U and V are x and dy written by columns
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

constexpr std::int64_t float8_step = size_step(DType::e4m3);

std::int64_t in_steps(std::int64_t size) {
  return (size + float8_step - 1) / float8_step * float8_step;
}

/// One operand: what is summed over is `inner` long.
struct ByteOperand {
  std::size_t place = 0;  ///< Among the call's inputs.
  DType format = DType::e4m3;
  Float8Bytes::Order order = Float8Bytes::Order::rows;

  std::int64_t inner(const Call& call) const {
    const Argument& from = call.in(place);
    return order == Float8Bytes::Order::rows ? from.width() : from.rows();
  }
  std::int64_t outer(const Call& call) const {
    const Argument& from = call.in(place);
    return order == Float8Bytes::Order::rows ? from.rows() : from.width();
  }
  Matrix matrix(const Call& call) const {
    Matrix matrix{format, in_steps(inner(call)), outer(call), in_steps(inner(call))};
    matrix.placed = Matrix::Placed::aligned;
    return matrix;
  }
  std::size_t bytes(const Call& call) const {
    return aligned(static_cast<std::size_t>(in_steps(inner(call)) * outer(call)));
  }
  /// Of its scale, and the largest magnitudes that it is made of.
  std::size_t scale_bytes(const Call& call) const {
    return aligned(static_cast<std::size_t>(call.in(place).rows() + 1) * sizeof(float));
  }
};

/// c = a b, where both are written to the workspace: a's bytes and scale, b's, then the library's.
struct ByteProduct {
  Call call;
  ByteOperand a, b;
  std::shared_ptr<const Product> product;
  std::size_t onto = 0;  ///< Its place among the inputs, where the shape's beta is not 0.

  std::size_t library_at() const { return a.bytes(call) + a.scale_bytes(call) + b.bytes(call) + b.scale_bytes(call); }

  void run(const Memory& memory) const {
    std::byte* at = memory.workspace;
    ProductMemory to;
    to.a = at;
    to.a_scale = write(a, memory, at);
    to.b = at;
    to.b_scale = write(b, memory, at);
    to.c = memory.out<std::byte>(0);
    if (onto != 0) to.onto = memory.in<std::byte>(onto);
    to.workspace = at;
    product->run(to);
  }

 private:
  const float* write(const ByteOperand& operand, const Memory& memory, std::byte*& at) const {
    const Argument& from = call.in(operand.place);
    auto* inverse = reinterpret_cast<float*>(at + operand.bytes(call));
    write_float8({.from = {input(call, memory, operand.place), from.rows(), from.width(), operand.format},
                  .order = operand.order,
                  .to = at,
                  .stride = in_steps(operand.inner(call)),
                  .inverse = inverse});
    at += operand.bytes(call) + operand.scale_bytes(call);
    return inverse;
  }
};

/// Why such operands are not multiplied as bytes; empty where they may be.
std::string float8_fault(const Call& call, const MachineFacts& facts) {
  if (facts.gpu && gpu_products(DType::e4m3, facts.gpu->capability).instruction == nullptr)
    return fmt::format("no e4m3 products at compute capability {}", to_string(facts.gpu->capability));
  const Argument& c = call.out(0);
  if (c.rows() == 0 || call.in(0).rows() == 0) return "there are no rows";
  if (c.width() % float8_step != 0 || c.row_stride % float8_step != 0)
    return fmt::format("cuBLASLt makes e4m3 products in steps of {} only", float8_step);
  if (stored_as(c.dtype) != DType::f32 && size_of(c.dtype) != 2)
    return fmt::format("e4m3 products are not stored as {}", name(c.dtype));
  return "";
}

/// The product of a call, c of the library being the output. `onto`: its place where there may be one, else 0.
std::variant<ByteProduct, Declined> byte_product(const Call& call, const ByteOperand& a, const ByteOperand& b,
                                                 std::size_t onto) {
  const Argument& c = call.out(0);
  ProductShape shape;
  shape.a = a.matrix(call);
  shape.b = b.matrix(call);
  shape.a_turned = Turned::yes;
  shape.c = {stored_as(c.dtype), c.width(), c.rows(), c.row_stride};
  shape.has_scales = true;
  const Argument& added = call.in(onto);
  const bool adds = onto != 0 && added.present;
  if (adds && (stored_as(added.dtype) != stored_as(c.dtype) || added.row_stride != c.row_stride))
    return Declined{"what it is added to lies otherwise"};
  shape.beta = adds ? 1 : 0;
  shape.onto_stride = added.row_stride;
  auto made = Product::make(shape);
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  return ByteProduct{call, a, b, std::get<std::shared_ptr<const Product>>(made), adds ? onto : 0};
}

template <typename Finish>
Offer offer_bytes(const std::variant<ByteProduct, Declined>& made, Finish finish_it) {
  if (const auto* declined = std::get_if<Declined>(&made)) return *declined;
  const ByteProduct& product = std::get<ByteProduct>(made);
  Prepared prepared = offer_library(*product.product, product.library_at() + product.product->workspace_bytes());
  prepared.description += "; bytes made of rounded operands at every run";
  prepared.kernel = make_kernel([product, finish_it](const Memory& memory) {
    product.run(memory);
    finish_it(memory);
  });
  return prepared;
}

}  // namespace

Offer prepare_float8_linear(const Call& call, const MachineFacts& facts) {
  if (const std::string fault = float8_fault(call, facts); !fault.empty()) return Declined{fault};
  const LinearCall linear = linear_call(call);
  return offer_bytes(byte_product(call, {1}, {0, call.attributes.math}, 0), [linear](const Memory& memory) {
    if (linear.has_bias || linear.activation != Activation::none)
      finish(finish_in_place(linear, linear_memory(linear, memory)));
  });
}

Offer prepare_float8_input_gradient(const Call& call, const MachineFacts& facts) {
  if (const std::string fault = float8_fault(call, facts); !fault.empty()) return Declined{fault};
  const ByteOperand weight = {1, DType::e4m3, Float8Bytes::Order::columns};
  return offer_bytes(byte_product(call, weight, {0, call.attributes.math}, 2), [](const Memory&) {});
}

Offer prepare_float8_weight_gradient(const Call& call, const MachineFacts& facts) {
  if (const std::string fault = float8_fault(call, facts); !fault.empty()) return Declined{fault};
  const ByteOperand x = {1, DType::e4m3, Float8Bytes::Order::columns};
  const ByteOperand dy = {0, call.attributes.math, Float8Bytes::Order::columns};
  return offer_bytes(byte_product(call, x, dy, 0), [](const Memory&) {});
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
