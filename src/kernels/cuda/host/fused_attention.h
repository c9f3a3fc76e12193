#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "kernels/cuda/host/heads_product.h"

/// Attention and its gradient by cuDNN, which stores no f32 scores. In tests on the host, loops stand in for the
/// library (fused_on_host.cc), so that layouts, parts of the batch and workspaces are checked without a GPU.
namespace assay::ASSAY_CUDA_NAMESPACE {

/// What such a kernel reads and writes.
enum class FusedRole : std::uint8_t { q, k, v, y, statistics, dy, dq, dk, dv };
constexpr std::size_t fused_roles = 9;

constexpr std::size_t place(FusedRole role) {
  return static_cast<std::size_t>(role);
}

/// A tensor as the library sees it: (batch, head, token, column).
struct FusedTensor {
  DType dtype = DType::f32;
  std::array<std::int64_t, 4> sizes{};
  std::array<std::int64_t, 4> strides{};  ///< In elements.
};

/// With p = softmax(scale q k^T), each query's logarithm of its sum of exponentials (f32, maximum included) being its
/// statistics:
///
///   forward    y = p v, rounded to its dtype; the statistics where they are wanted
///   backward   dq, dk, dv from q, k, v, y, the statistics and dy, with sum(p dp) taken as sum(dy y)
///
/// f32 softmax and sums (Dao 2023, FlashAttention-2, algorithms 1 and 2). A shape that has dq is a backward.
struct FusedShape {
  std::array<std::optional<FusedTensor>, fused_roles> tensors;
  double scale = 1;
  bool causal = false;

  bool is_backward() const { return tensors[place(FusedRole::dq)].has_value(); }
  /// Names it among all others.
  std::string key() const;
};

/// Where the tensors lie, all on the GPU, at multiples of 16 bytes; null where the shape has none.
struct FusedMemory {
  std::array<std::byte*, fused_roles> at{};
  std::byte* workspace = nullptr;  ///< At a multiple of 256 bytes.
};

/// A kernel of the library's, ready to run: it makes the same bits in every run, waits for nothing and allocates
/// nothing on the GPU.
struct FusedAttention {
  std::function<void(const FusedMemory& memory)> run;
  std::size_t workspace_bytes = 0;
  std::string description;  ///< "cuDNN 9.19.0, plan eng2_k24=7"
};

/// Says in words where the library is missing or has no kernel for it.
std::variant<FusedAttention, Declined> make_fused_attention(const FusedShape& shape);

/// Why the library is not asked for such a call; "": it is.
std::string fused_fault(const Call& call, const MachineFacts& facts);
FusedShape fused_forward(const Call& call);

/// The gradient of a part of the batch: the forward again, whose y and statistics lie in the workspace, then the
/// backward.
struct FusedGradientShapes {
  FusedShape forward, backward;
  std::int64_t rows = 1;  ///< Of the part; a divisor of the batch.
};
/// A backward of the same bits in every run stores a T x T matrix of its own in 16 bits: as many rows as fit into
/// `most_bytes` with theirs, one at least.
FusedGradientShapes fused_gradient(const Call& call, std::int64_t most_bytes);
Offer prepare_fused_gradient_in_parts(const Call& call, const MachineFacts& facts, std::int64_t most_bytes);

}  // namespace assay::ASSAY_CUDA_NAMESPACE
