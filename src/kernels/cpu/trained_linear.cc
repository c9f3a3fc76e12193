#include "kernels/cpu/cpu.h"
#include "kernels/cpu/matmul_codes.h"
#include "kernels/cpu/product.h"
#include "kernels/linear.h"
#include "kernels/verdict.h"

// The three matrix products of training: forward with a weight that changes, and both gradients.
namespace assay::cpu {
namespace {

using Order = Factor::Order;

/// The operation's product, and which tensor of the call is which.
struct Trained {
  Product product;
  ProductMemory (*memory)(const Memory& memory);
};

Factor factor(const Argument& argument, Order order, DType operand = DType::f32) {
  const bool is_wider = size_of(operand) < size_of(argument.dtype);
  return {.data = nullptr,
          .dtype = argument.dtype,
          .rounded = is_wider ? operand : argument.dtype,
          .stride_bytes = argument.row_stride * static_cast<std::int64_t>(size_of(argument.dtype)),
          .order = order};
}

SinkRows result(const Argument& argument) {
  return {nullptr, argument.dtype, argument.row_stride * static_cast<std::int64_t>(size_of(argument.dtype))};
}

/// y = x W^T + b
Trained forward(const Call& call) {
  return {.product = {.rows = call.in(0).rows(),
                      .columns = call.in(1).shape[0],
                      .depth = call.in(1).shape[1],
                      .a = factor(call.in(0), Order::k_contiguous),
                      .b = factor(call.in(1), Order::k_contiguous, call.attributes.operand),
                      .bias = call.in(2).dtype,
                      .onto = {},
                      .y = result(call.out(0)),
                      .threads = call.threads,
                      .counted = &Product::rows},
          .memory = [](const Memory& m) -> ProductMemory {
            return {m.in<std::byte>(0),  m.in<std::byte>(1), m.in<std::byte>(2), nullptr,
                    m.out<std::byte>(0), m.workspace};
          }};
}

/// dx = dy W + onto
Trained input_gradient(const Call& call) {
  return {.product = {.rows = call.in(0).rows(),
                      .columns = call.in(1).shape[1],
                      .depth = call.in(1).shape[0],
                      .a = factor(call.in(0), Order::k_contiguous),
                      .b = factor(call.in(1), Order::k_strided, call.attributes.operand),
                      .bias = DType::f32,
                      .onto = source_rows(call, {}, 2),
                      .y = result(call.out(0)),
                      .threads = call.threads,
                      .counted = &Product::rows},
          .memory = [](const Memory& m) -> ProductMemory {
            return {m.in<std::byte>(0), m.in<std::byte>(1),  nullptr,
                    m.in<std::byte>(2), m.out<std::byte>(0), m.workspace};
          }};
}

/// dW = dy^T x
Trained weight_gradient(const Call& call) {
  return {.product = {.rows = call.in(0).width(),
                      .columns = call.in(1).width(),
                      .depth = call.in(0).rows(),
                      .a = factor(call.in(0), Order::k_strided),
                      .b = factor(call.in(1), Order::k_strided),
                      .bias = DType::f32,
                      .onto = {},
                      .y = result(call.out(0)),
                      .threads = call.threads,
                      .read_late = true,
                      .counted = &Product::depth},
          .memory = [](const Memory& m) -> ProductMemory {
            return {m.in<std::byte>(0), m.in<std::byte>(1), nullptr, nullptr, m.out<std::byte>(0), m.workspace};
          }};
}

Trained trained(const Call& call) {
  if (call.operation == &op::linear_input_gradient) return input_gradient(call);
  if (call.operation == &op::linear_weight_gradient) return weight_gradient(call);
  return forward(call);
}

const char* unfit_for_training(const Call& call) {
  if (const char* why = unfit_for_vectors(call)) return why;
  if (call.operation == &op::linear && call.in(1).constant) return "the weight is constant: it is packed once";
  if (call.attributes.activation != Activation::none) return "it applies no activation";
  if (call.attributes.accumulator != DType::f32) return "it adds in f32";
  return nullptr;
}

Offer bf16_product(const Call& call, const MachineFacts& facts, const MatmulCode& code) {
  if (const char* why = unfit_for_training(call)) return Declined{why};
  const Trained one = trained(call);
  if (one.product.a.rounded != DType::bf16 || one.product.b.rounded != DType::bf16)
    return Declined{"the operands are not bf16"};
  return prepare_product(one.product, facts, code, one.memory);
}

/// "avx512 f32" or "avx512 f32 from bf16": what is multiplied, and what it was stored in or rounded to.
MatmulCode f32_code(const Product& product, const MachineFacts& facts) {
  const DType from = product.b.rounded;
  if (!facts.isa.avx512) return codes::f32_strips_avx2(from);
  return from == DType::f32 ? codes::f32() : codes::f32_from(from);
}

}  // namespace

Offer trained_linear_tiles(const Call& call, const MachineFacts& facts) {
  if (!facts.isa.amx_bf16) return Declined{"no AMX-BF16 here"};
  return bf16_product(call, facts, codes::bf16_tiles());
}

Offer trained_linear_bf16(const Call& call, const MachineFacts& facts) {
  if (!facts.isa.avx512_bf16 || !facts.isa.avx512) return Declined{"no AVX512-BF16 here"};
  if (!instruction_pays(DType::bf16, facts)) return Declined{"its dot products were measured slower than f32"};
  return bf16_product(call, facts, codes::bf16_dot_products());
}

Offer trained_linear_f32(const Call& call, const MachineFacts& facts) {
  if (!facts.isa.avx2) return Declined{"no AVX2 here"};
  if (const char* why = unfit_for_training(call)) return Declined{why};
  const Trained one = trained(call);
  return prepare_product(one.product, facts, f32_code(one.product, facts), one.memory);
}

}  // namespace assay::cpu
