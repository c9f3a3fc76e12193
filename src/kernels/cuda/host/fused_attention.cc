#include "kernels/cuda/host/fused_attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/cuda/host/products.h"
#include "kernels/verdict.h"

namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

constexpr std::size_t workspace_alignment = 256;

std::size_t aligned(std::size_t bytes) {
  return (bytes + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
}

std::byte* aligned(std::byte* address) {
  const auto behind = reinterpret_cast<std::uintptr_t>(address) % workspace_alignment;
  return behind == 0 ? address : address + (workspace_alignment - behind);
}

/// The library's list of addresses has inputs and outputs in one type; it writes no input.
std::byte* input(const Memory& memory, std::size_t index) {
  return const_cast<std::byte*>(memory.in<std::byte>(index));
}

void run_fused(const FusedAttention& fused, const FusedMemory& memory) {
  for (const std::byte* address : memory.at) ASSAY_ASSERT(reinterpret_cast<std::uintptr_t>(address) % 16 == 0);
  fused.run(memory);
}

std::size_t bytes_of(const FusedTensor& tensor) {
  return static_cast<std::size_t>(tensor.sizes[0] * tensor.strides[0]) * size_of(tensor.dtype);
}

Prepared offer_fused(const Call& call, std::string description, std::size_t workspace_bytes) {
  Prepared prepared;
  prepared.description = std::move(description);
  prepared.operand = asked_operand(call);
  prepared.workspace_bytes = workspace_bytes + workspace_alignment;
  return prepared;
}

/// Workspace: y, the statistics, the library's. From part to part every tensor moves by its rows.
struct FusedGradient {
  FusedAttention forward, backward;
  FusedShape shape;  ///< The backward's.
  std::int64_t parts = 1;

  std::size_t y_bytes() const { return aligned(bytes_of(*shape.tensors[place(FusedRole::y)])); }
  std::size_t statistics_bytes() const { return aligned(bytes_of(*shape.tensors[place(FusedRole::statistics)])); }
  std::size_t workspace_bytes() const {
    return y_bytes() + statistics_bytes() + std::max(forward.workspace_bytes, backward.workspace_bytes);
  }

  void run(const Memory& memory) const {
    FusedMemory fused;
    const auto set = [&fused](FusedRole role, std::byte* address) { fused.at[place(role)] = address; };
    set(FusedRole::dy, input(memory, 0));
    set(FusedRole::q, input(memory, 1));
    set(FusedRole::k, input(memory, 2));
    set(FusedRole::v, input(memory, 3));
    set(FusedRole::dq, memory.out<std::byte>(0));
    set(FusedRole::dk, memory.out<std::byte>(1));
    set(FusedRole::dv, memory.out<std::byte>(2));
    set(FusedRole::y, aligned(memory.workspace));
    set(FusedRole::statistics, fused.at[place(FusedRole::y)] + y_bytes());
    fused.workspace = fused.at[place(FusedRole::statistics)] + statistics_bytes();
    for (std::int64_t part = 0; part < parts; ++part) {
      run_fused(forward, fused);
      run_fused(backward, fused);
      advance(fused);
    }
  }

  void advance(FusedMemory& fused) const {
    for (const FusedRole role :
         {FusedRole::q, FusedRole::k, FusedRole::v, FusedRole::dy, FusedRole::dq, FusedRole::dk, FusedRole::dv})
      fused.at[place(role)] += bytes_of(*shape.tensors[place(role)]);
  }
};

}  // namespace

Offer prepare_fused_attention(const Call& call, const MachineFacts& facts) {
  if (std::string fault = fused_fault(call, facts); !fault.empty()) return Declined{fault};
  auto made = make_fused_attention(fused_forward(call));
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  const FusedAttention fused = std::get<FusedAttention>(std::move(made));
  Prepared prepared = offer_fused(call, "fused: " + fused.description, fused.workspace_bytes);
  prepared.kernel = make_kernel([fused](const Memory& memory) {
    FusedMemory at;
    for (const FusedRole role : {FusedRole::q, FusedRole::k, FusedRole::v})
      at.at[place(role)] = input(memory, place(role));
    at.at[place(FusedRole::y)] = memory.out<std::byte>(0);
    at.workspace = aligned(memory.workspace);
    run_fused(fused, at);
  });
  return prepared;
}

Offer prepare_fused_attention_gradient(const Call& call, const MachineFacts& facts) {
  return prepare_fused_gradient_in_parts(call, facts, std::int64_t{256} << 20);
}

Offer prepare_fused_gradient_in_parts(const Call& call, const MachineFacts& facts, std::int64_t most_bytes) {
  if (std::string fault = fused_fault(call, facts); !fault.empty()) return Declined{fault};
  const FusedGradientShapes shapes = fused_gradient(call, most_bytes);
  auto forward = make_fused_attention(shapes.forward);
  if (auto* declined = std::get_if<Declined>(&forward)) return *declined;
  auto backward = make_fused_attention(shapes.backward);
  if (auto* declined = std::get_if<Declined>(&backward)) return *declined;
  const FusedGradient work{std::get<FusedAttention>(std::move(forward)), std::get<FusedAttention>(std::move(backward)),
                           shapes.backward, call.in(1).shape[0] / shapes.rows};
  Prepared prepared = offer_fused(
      call, fmt::format("fused: forward again, then backward: {}", work.backward.description), work.workspace_bytes());
  prepared.errors_of = ErrorsOf::output;  // sum(p dp) is that of the rounded y
  prepared.kernel = make_kernel([work](const Memory& memory) { work.run(memory); });
  return prepared;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
