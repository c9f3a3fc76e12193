#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace assay {

/// What autocast does with an operation (PyTorch's CUDA lists).
enum class Autocast : std::uint8_t {
  low_precision,   ///< Runs in the 16-bit operand dtype: matmuls.
  full_precision,  ///< Runs in f32: norms, softmax, loss.
  widest,          ///< Runs in the widest dtype of its inputs: everything else.
};

/// What an operation is, coarsely: by this profiles add up its time.
enum class OperationKind : std::uint8_t {
  matmul,
  attention,
  norm,
  activation,
  embedding,
  casts,
  loss,
  optimizer,
  other
};
constexpr std::size_t operation_kinds = 9;
const char* name(OperationKind kind);

/// How much of an operation's work is matrix products.
enum class ProductShare : std::uint8_t {
  none,
  some,  ///< Beside work of another kind, in one kernel that nobody can time apart: fused attention.
  all,
};

class GradientBuilder;

/// What is true of an operation whatever runs it. One file each in program/operations/.
struct Operation {
  const char* name;
  OperationKind kind;
  Autocast autocast;
  /// Shapes of the outputs; throws a defect where the inputs do not fit one another.
  std::vector<SymbolicShape> (*shapes)(const Program& program, const Node& node);
  double (*flops)(const Program& program, const Node& node, Extent extent);
  double (*bytes)(const Program& program, const Node& node, Extent extent);
  /// Appends the operations that give each wanted input its gradient; null where there is none to give.
  void (*gradient)(GradientBuilder& g, const Node& node) = nullptr;
  /// The output is a window into the first input: nothing is computed or copied.
  bool alias = false;
  /// The input whose memory the first output may take over where nobody needs that input any more; -1: none.
  int in_place = -1;
  ProductShare products = ProductShare::none;
  /// The outputs are the inputs from here on, written over in place; what it does not write stays. -1: they are not.
  int updates = -1;
};

/// Every operation; the only list of them. A name is a constant of namespace op, defined in a file of operations/, and
/// in each backend's table (kernels/operations_test.cc fails for what lacks kernels, contract cases or a check of its
/// gradient).
#define ASSAY_OPERATIONS(OPERATION)                                                                                   \
  OPERATION(embedding)        /* ids (B,T), table (V,d) [, scales (V)] -> (B,T,d) */                                  \
  OPERATION(count_positions)  /* ids s32 or mask u8 (B,T) [, lengths (B)] -> s32 (B,T): its number among real ones */ \
  OPERATION(add_rows)         /* x (B,T,d), table (P,d) -> x + table[t] or x + table[0] */                            \
  OPERATION(layer_norm)       /* x (..,d), gain (d), bias (d) -> (..,d) */                                            \
  OPERATION(rms_norm)         /* x (..,n d), gain (d) -> (..,n d): n rows of d */                                     \
  OPERATION(linear)           /* x (..,in), W (out,in) [, bias (out)] -> activation(x W^T + bias) */                  \
  OPERATION(quantized_linear) /* x (..,in) [, x_scale (rows)], Wq 8 bits (out,in), w_scale (out) [, bias] */          \
  OPERATION(block_linear)     /* x (..,in), blocks u8 (out,row bytes) [, bias (out)] -> as linear */                  \
  OPERATION(block_embedding)  /* ids (B,T), blocks u8 (V,row bytes) -> (B,T,d) */                                     \
  /* Experts: each of E takes the rows that tokens send it; k: experts a token, N = B T k. */                         \
  OPERATION(route)                   /* logits (B,T,E) -> weights (B,T,k), experts s32 (B,T,k) */                     \
  OPERATION(group_rows)              /* x (B,T,d), experts (B,T,k) -> (N,d), order s32 (N), offsets s32 (E+1) */      \
  OPERATION(expert_linear)           /* x (N,in), offsets, W1 (out,in) [, bias1], .. -> (N,out) */                    \
  OPERATION(expert_quantized_linear) /* x [, x_scale], offsets, Wq1, w_scale1 [, bias1], .. -> (N,out) */             \
  OPERATION(expert_block_linear)     /* x, offsets, blocks1 [, bias1], .. -> (N,out) */                               \
  OPERATION(merge_rows)              /* y (N,d), order, weights (B,T,k) -> (B,T,d) */                                 \
  OPERATION(activation)              /* x -> f(x) */                                                                  \
  OPERATION(gated_activation)        /* x (..,2f) -> f(x[..,:f]) * x[..,f:] */                                        \
  OPERATION(add)                     /* x, y -> x + y */                                                              \
  OPERATION(multiply)                /* x, y -> x * y */                                                              \
  OPERATION(affine)                  /* x -> scale * x + shift */                                                     \
  OPERATION(soft_cap)                /* x -> cap * tanh(x / cap) */                                                   \
  OPERATION(rope)                    /* x (B,T,heads*head_dim) [, positions s32 (B,T)] -> rotated by position */      \
  OPERATION(attention_scores)        /* q (B,T,H*D), k (B,T,K*D) -> scale * q k^T (B,H,T,T) */                        \
  OPERATION(relative_scores)         /* s (B,H,T,T), x (B,T,H*D), table (R,H*D) -> s + scale x table[distance] */     \
  OPERATION(softmax)                 /* scores (B,H,T,T) [, mask (B,T)] [, sinks (H)] -> probabilities (B,H,T,T) */   \
  OPERATION(attention_context)       /* p (B,H,T,T), v (B,T,K*D) -> (B,T,H*D) */                                      \
  OPERATION(attention)               /* q, k, v [, mask] [, sinks] -> (B,T,H*D); the three above in one */            \
  /* Keys and values that outlive runs: caches (B,S,K*D), in s8 with scales (B,S,K); lengths: tokens held before. */  \
  OPERATION(append_cache)     /* k, v [, mask], lengths, caches [, scales] -> caches [, scales], written in place */  \
  OPERATION(cached_attention) /* q, k_cache, v_cache [, mask], lengths [, k_scales, v_scales] [, sinks] -> as q */    \
  OPERATION(add_layer_norm)   /* x, y, gain, bias -> x + y, layer_norm(x + y) */                                      \
  OPERATION(add_rms_norm)     /* x, y, gain -> x + y, rms_norm(x + y) */                                              \
  OPERATION(slice_columns)    /* x (..,w) -> x[.., offset : offset + width]; alias */                                 \
  OPERATION(select_row)       /* x (B,T,d) [, mask (B,T)] -> (B,d): the first or last (real) position */              \
  OPERATION(mean_pool)        /* x (B,T,d) [, mask (B,T)] -> (B,d): mean over real positions */                       \
  OPERATION(cast)             /* x -> the same values in the output's dtype */                                        \
  OPERATION(quantize_rows)    /* x (..,d) -> s8 or e4m3 (..,d), f32 scale (rows): dynamic, per token */               \
  OPERATION(quantize_weight)  /* W (out,in) -> s8 or e4m3 (out,in), f32 scale (out): per channel */                   \
  OPERATION(round_float8)     /* x (..,d) [, history f32] -> x on attributes.operand's grid by a scale [, history] */ \
  OPERATION(concat_rows)      /* W1 (n1,..), W2 (n2,..), ... -> (n1+n2+.., ..) */                                     \
  OPERATION(gate)             /* x, y -> f(x) * y */                                                                  \
  OPERATION(clamped_gate)     /* x, y -> h sigmoid(scale h) (1 + y in [-cap, cap]), h = min(x, cap) */                \
  OPERATION(dropout)       /* x, seed s32 (2), first s32 (1) -> x / (1 - rate) or 0, by a counter-based generator */  \
  OPERATION(cross_entropy) /* logits (..,V), labels s32 (rows) -> f32 (1): mean over labels >= 0 */                   \
  /* Weights in blocks that are made here, and multiplied by s8 with a scale for 32 inputs. */                        \
  OPERATION(quantize_blocks)               /* W (out,in) -> blocks u8 (out,row bytes): scales searched for */         \
  OPERATION(quantize_groups)               /* x (..,d) -> s8 (..,d), f32 scale (..,groups): dynamic */                \
  OPERATION(quantized_block_linear)        /* x s8 (..,in), x_scale (..,groups), blocks [, bias] -> as linear */      \
  OPERATION(expert_quantized_block_linear) /* x, x_scale, offsets, blocks1, .. -> (N,out) */                          \
  /* Gradients: dy is the gradient of the forward operation's output. `onto`, where given, is added to the result. */ \
  OPERATION(linear_input_gradient)           /* dy (..,out), W (out,in) [, onto] -> dx (..,in) */                     \
  OPERATION(quantized_linear_input_gradient) /* dy (..,out), Wq 8 bits (out,in), w_scale (out) [, onto] -> dx */      \
  OPERATION(block_linear_input_gradient)     /* dy (..,out), blocks u8 (out,row bytes) [, onto] -> dx (..,in) */      \
  OPERATION(linear_weight_gradient)          /* dy (..,out), x (..,in) -> dW (out,in) */                              \
  OPERATION(route_gradient)                  /* dweights (B,T,k), logits, weights, experts -> dlogits (B,T,E) */      \
  OPERATION(group_rows_gradient)             /* drows (N,d), order, experts (B,T,k) -> dx (B,T,d) */                  \
  OPERATION(expert_linear_input_gradient)    /* dy (N,out), offsets, W1 (out,in), .., WE -> dx (N,in) */              \
  OPERATION(expert_linear_weight_gradient)   /* dy (N,out), x (N,in), offsets -> dW1 (out,in), .., dWE */             \
  OPERATION(merge_rows_gradient)             /* dmerged (B,T,d), y (N,d), order, weights (B,T,k) -> dy, dweights */   \
  OPERATION(sum_rows)                        /* dy (..,d) -> (d) */                                                   \
  OPERATION(layer_norm_gradient)             /* dy, x, gain [, onto] -> dx, dgain, dbias */                           \
  OPERATION(rms_norm_gradient)               /* dy, x, gain [, onto] -> dx, dgain */                                  \
  OPERATION(activation_gradient)             /* dy, x -> dx */                                                        \
  OPERATION(gate_gradient)                   /* dz, x, y -> dx, dy */                                                 \
  OPERATION(soft_cap_gradient)               /* dy, y -> dx */                                                        \
  OPERATION(relative_input_gradient)         /* ds (B,H,T,T), table (R,H*D) -> dx (B,T,H*D) */                        \
  OPERATION(relative_table_gradient)         /* ds (B,H,T,T), x (B,T,H*D) -> dtable (R,H*D) */                        \
  OPERATION(softmax_gradient)                /* dp, p (B,H,T,T) -> ds */                                              \
  OPERATION(attention_context_transposed)    /* p (B,H,T,T), y (B,T,H*D) -> scale * p^T y (B,T,K*D) */                \
  OPERATION(attention_gradient)              /* dy, q, k, v [, mask] -> dq, dk, dv */                                 \
  OPERATION(embedding_gradient)              /* ids, dy [, onto] -> (rows,d) */                                       \
  OPERATION(add_rows_gradient)               /* dy (B,T,d) -> (rows,d) */                                             \
  OPERATION(select_row_gradient)             /* dy (B,d) -> (B,T,d): zeros but for the row that was chosen */         \
  OPERATION(mean_pool_gradient)              /* dy (B,d) [, mask (B,T)] -> (B,T,d) */                                 \
  OPERATION(concat_columns)                  /* x1 (..,w1), x2 (..,w2), ... -> (.., w1+w2+..) */                      \
  OPERATION(cross_entropy_gradient)          /* logits, labels, dloss (1) -> dlogits */                               \
  /* Optimizer: over all parameters at once (program/update_list.h); these write over their inputs. */                \
  OPERATION(l2_norm)     /* x1, x2, ... -> f32 (tensors): of each, sqrt of the sum of squares */                      \
  OPERATION(adamw)       /* w, g, m, v of each, hyper f32 (4), seed s32 (2) -> w, m, v of each [, lost] */            \
  OPERATION(sgd)         /* w, g, momentum of each, hyper f32 (4), seed s32 (2) -> w, momentum of each [, lost] */    \
  OPERATION(block_adamw) /* w, g, m u8, v u8, their scales f32 (blocks) of each, hyper, seed -> all but g [, lost] */

namespace op {
#define ASSAY_DECLARE_OPERATION(name) extern const Operation name;
ASSAY_OPERATIONS(ASSAY_DECLARE_OPERATION)
#undef ASSAY_DECLARE_OPERATION
}  // namespace op

/// Every operation there is.
std::span<const Operation* const> all_operations();

/// Columns of a head that rope turns.
std::int64_t rotary_columns(const Attributes& attributes);
/// Angle that each rotary pair turns by from one position to the next: theta^(-2 pair / rotary_columns), changed as
/// attributes.rope_scaling says for a sequence of so many positions. Every step is rounded to f32, and so is position
/// times frequency, as in the code that models were trained with: at position 500 an ulp of the frequency turns a pair
/// by 3e-5.
std::vector<float> rotary_frequencies(const Attributes& attributes, std::int64_t positions);

/// The row of a table of 2 span rows that a query has for a key so far before it (behind it where that is negative).
std::int64_t relative_row(const RelativePositions& positions, std::int64_t distance);

/// The keys [begin, end) of a sequence that attention lets position `query` see, padding aside.
struct SeenKeys {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
SeenKeys seen_keys(const Attributes& attributes, std::int64_t query, std::int64_t seq);

/// The tokens [begin, end) of a row that cached_attention lets a query see that is the last of `tokens`.
struct CachedKeys {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
CachedKeys cached_keys(const Attributes& attributes, std::int64_t tokens);
/// Operations that attention counts for a query and a key that it sees, both products and softmax.
double attention_flops_a_pair(std::int64_t head_dim);

/// Where an operation over experts has its inputs: those of expert e begin at first + e * each.
struct ExpertPlaces {
  std::size_t offsets = 0;
  std::size_t first = 0;
  std::size_t each = 1;
};
/// Of expert_linear and what is like it; absent for all others.
std::optional<ExpertPlaces> expert_places(const Operation& operation);
/// The share of its experts that a run of such a node reads at most: as many as there are rows, if those are fewer.
/// Which ones they are is known when it runs.
double read_experts(const Program& program, const Node& node, Extent extent);

/// Where a linear layer, or one over experts, has its weights; none of other operations.
std::vector<std::size_t> weight_places(const Node& node);

/// Neighbours that share a scale where activations are quantised by groups: as many as ggml's Q8_0 and the blocks of
/// most formats have, so that integer sums end where scales do.
constexpr std::int64_t activation_group = 32;
constexpr std::int64_t activation_groups(std::int64_t width) {
  return (width + activation_group - 1) / activation_group;
}

/// Random bits of element `index`: Philox keyed by the seed, so that every backend draws the same ones.
/// `seed`: s32 (2), low word first; `stream`: attributes.stream.
std::uint32_t random_bits(const std::int32_t* seed, std::int64_t stream, std::int64_t index);

// Rules that several operations share.

/// The first output has the first input's shape.
std::vector<SymbolicShape> same_shape(const Program& program, const Node& node);
/// Likewise, and the second input has it too.
std::vector<SymbolicShape> two_alike(const Program& program, const Node& node);
/// Two outputs of the shape that the first two inputs have: their sum, and its norm.
std::vector<SymbolicShape> sum_and_norm(const Program& program, const Node& node);
/// x (.., in) by the weight (out, in) that is input `weight` -> (.., out).
template <std::size_t weight>
std::vector<SymbolicShape> matmul_shape(const Program& program, const Node& node);
/// A multiplication and an addition for each element of x and row of the weight.
template <std::size_t weight>
double matmul_flops(const Program& program, const Node& node, Extent extent);
/// Every input read once, every output written once.
double read_once_write_once(const Program& program, const Node& node, Extent extent);
double no_work(const Program& program, const Node& node, Extent extent);
/// `count` operations for each element of the first input.
template <int count>
double per_element(const Program& program, const Node& node, Extent extent);

/// Elements of an input or output at that extent; 0 where it is absent.
double input_count(const Program& program, const Node& node, std::size_t index, Extent extent);
bool has_input(const Node& node, std::size_t index);
const Value& input(const Program& program, const Node& node, std::size_t index);
/// Product of all axes but the last.
Dim rows(const SymbolicShape& shape);
/// That of (.., in) by (out, in): (.., out); a defect where the two do not fit.
SymbolicShape product_shape(SymbolicShape x, const SymbolicShape& weight);

template <std::size_t weight>
std::vector<SymbolicShape> matmul_shape(const Program& program, const Node& node) {
  return {product_shape(input(program, node, 0).shape, input(program, node, weight).shape)};
}

template <std::size_t weight>
double matmul_flops(const Program& program, const Node& node, Extent extent) {
  const Dim out = input(program, node, weight).shape[0];
  return 2.0 * input_count(program, node, 0, extent) * static_cast<double>(out.at(extent));
}

template <int count>
double per_element(const Program& program, const Node& node, Extent extent) {
  return count * input_count(program, node, 0, extent);
}

}  // namespace assay
