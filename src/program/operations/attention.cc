#include <algorithm>

#include "base/error.h"
#include "program/gradient.h"
#include "program/operation.h"

namespace assay {
namespace {

std::vector<SymbolicShape> score_shape(const Program& program, const Node& node) {
  const SymbolicShape& q = input(program, node, 0).shape;
  ASSAY_ASSERT(q.size() == 3 && q[2].factor == node.attributes.heads * node.attributes.head_dim);
  return {{q[0], dim(node.attributes.heads), q[1], q[1]}};
}

std::vector<SymbolicShape> context_shape(const Program& program, const Node& node) {
  const SymbolicShape& p = input(program, node, 0).shape;
  return {{p[0], p[2], dim(node.attributes.heads * node.attributes.head_dim)}};
}

// The one convention of attention's FLOPs: work on a (query, key) pair counts where causal attention and its window let
// the query see the key, in products and in softmax alike, whatever a kernel really computes. Padding counts as any
// token does.
constexpr double softmax_flops_a_pair = 5;           // max, subtract, exp, sum, divide
constexpr double softmax_gradient_flops_a_pair = 4;  // product, its sum over keys, subtract, product

/// B H times the number of (query, key) pairs that count.
double score_pairs(const Node& node, Extent extent) {
  const auto t = static_cast<double>(extent.seq);
  const bool whole = node.attributes.window == 0 || node.attributes.window >= extent.seq;
  const double hidden = whole ? 0 : t - static_cast<double>(node.attributes.window);
  const double beyond = hidden * (hidden + 1) / 2;  // Pairs on one side that are too far apart.
  const double pairs = node.attributes.causal ? t * (t + 1) / 2 - beyond : t * t - 2 * beyond;
  return static_cast<double>(extent.batch * node.attributes.heads) * pairs;
}

double softmax_flops(const Program&, const Node& node, Extent extent) {
  return softmax_flops_a_pair * score_pairs(node, extent);
}

double softmax_gradient_flops(const Program&, const Node& node, Extent extent) {
  return softmax_gradient_flops_a_pair * score_pairs(node, extent);
}

/// One of attention's two products: a multiplication and an addition for each pair and channel of a head.
double product_flops(const Program&, const Node& node, Extent extent) {
  return 2.0 * static_cast<double>(node.attributes.head_dim) * score_pairs(node, extent);
}

double whole_attention(const Program& program, const Node& node, Extent extent) {
  return 2.0 * product_flops(program, node, extent) + softmax_flops(program, node, extent);
}

/// dq = scale ds k, dk = scale ds^T q
void scores_rule(GradientBuilder& g, const Node& node) {
  give_result(g, node, 0, op::attention_context, {g.of_output(0), g.saved(node.inputs[1])}, node.attributes);
  give_result(g, node, 1, op::attention_context_transposed, {g.of_output(0), g.saved(node.inputs[0])}, node.attributes);
}

void softmax_rule(GradientBuilder& g, const Node& node) {
  give_result(g, node, 0, op::softmax_gradient, {g.of_output(0), g.saved(node.outputs[0])}, node.attributes);
}

/// dp = dy v^T, dv = p^T dy
void context_rule(GradientBuilder& g, const Node& node) {
  give_result(g, node, 0, op::attention_scores, {g.of_output(0), g.saved(node.inputs[1])}, node.attributes);
  give_result(g, node, 1, op::attention_context_transposed, {g.saved(node.inputs[0]), g.of_output(0)}, node.attributes);
}

void attention_rule(GradientBuilder& g, const Node& node) {
  std::vector<ValueId> inputs = {g.of_output(0)};
  for (const std::size_t place : {0, 1, 2}) inputs.push_back(g.saved(node.inputs[place]));
  inputs.push_back(has_input(node, 3) ? node.inputs[3] : no_value);
  const std::vector<ValueId> made =
      g.add(op::attention_gradient, inputs, node.attributes, {node.inputs[0], node.inputs[1], node.inputs[2]});
  for (const std::size_t place : {0, 1, 2}) g.give(place, made[place]);
}

std::vector<SymbolicShape> key_shape(const Program& program, const Node& node) {
  const SymbolicShape& y = input(program, node, 1).shape;
  return {{y[0], y[1], dim(node.attributes.kv_heads * node.attributes.head_dim)}};
}

std::vector<SymbolicShape> query_key_value_shapes(const Program& program, const Node& node) {
  return {input(program, node, 1).shape, input(program, node, 2).shape, input(program, node, 3).shape};
}

/// Scores again, dp, dq, dk and dv: five products, and softmax with its gradient.
double attention_gradient_flops(const Program& program, const Node& node, Extent extent) {
  return 5.0 * product_flops(program, node, extent) + softmax_flops(program, node, extent) +
         softmax_gradient_flops(program, node, extent);
}

}  // namespace

double attention_flops_a_pair(std::int64_t head_dim) {
  return 2 * 2 * static_cast<double>(head_dim) + softmax_flops_a_pair;
}

SeenKeys seen_keys(const Attributes& attributes, std::int64_t query, std::int64_t seq) {
  const std::int64_t reach = attributes.window > 0 ? attributes.window : seq;
  return {std::max<std::int64_t>(0, query - reach + 1), attributes.causal ? query + 1 : std::min(seq, query + reach)};
}

// s = scale * q k^T    q: (B, T, H*D), k: (B, T, K*D), s: (B, H, T, T); query head h reads key head h / (H / K)
const Operation op::attention_scores = {
    .name = "attention_scores",
    .kind = OperationKind::attention,
    .autocast = Autocast::low_precision,
    .shapes = score_shape,
    .flops = product_flops,
    .bytes = read_once_write_once,
    .gradient = scores_rule,
    .products = ProductShare::all,
};

// p = exp(s - max) / sum over the keys that are real (mask), if causal not in the future, and inside the window; f32
// inside. A sink is a score of no key that takes part in max and sum.
// s, p: (B, H, T, T), mask: u8 (B, T), sinks: f32 (H). A query with no key to see gets zeros.
const Operation op::softmax = {
    .name = "softmax",
    .kind = OperationKind::attention,
    .autocast = Autocast::full_precision,
    .shapes = same_shape,
    .flops = softmax_flops,
    .bytes = read_once_write_once,
    .gradient = softmax_rule,
};

// ds = p (dp - sum over keys of dp p), f32 inside    dp, p, ds: (B, H, T, T). Zeros where p is zero.
const Operation op::softmax_gradient = {
    .name = "softmax_gradient",
    .kind = OperationKind::attention,
    .autocast = Autocast::full_precision,
    .shapes = same_shape,
    .flops = softmax_gradient_flops,
    .bytes = read_once_write_once,
    .in_place = 0,
};

// y = scale * p v    p: (B, H, T, T), v: (B, T, K*D), y: (B, T, H*D)
const Operation op::attention_context = {
    .name = "attention_context",
    .kind = OperationKind::attention,
    .autocast = Autocast::low_precision,
    .shapes = context_shape,
    .flops = product_flops,
    .bytes = read_once_write_once,
    .gradient = context_rule,
    .products = ProductShare::all,
};

// z[key] = scale * the sum over queries and the heads that share that key of p[query, key] y[query]
// p: (B, H, T, T), y: (B, T, H*D), z: (B, T, K*D)
const Operation op::attention_context_transposed = {
    .name = "attention_context_transposed",
    .kind = OperationKind::attention,
    .autocast = Autocast::low_precision,
    .shapes = key_shape,
    .flops = product_flops,
    .bytes = read_once_write_once,
    .products = ProductShare::all,
};

// The three above without a stored T x T matrix (Dao et al. 2022), with soft_cap between scores and softmax where there
// is a cap: q, k, v, mask, sinks -> (B, T, H*D)
const Operation op::attention = {
    .name = "attention",
    .kind = OperationKind::attention,
    .autocast = Autocast::low_precision,
    .shapes = same_shape,
    .flops = whole_attention,
    .bytes = read_once_write_once,
    .gradient = attention_rule,
    .products = ProductShare::some,
};

// Gradients of attention's q, k and v; the probabilities are computed again, a block of queries at a time.
// dy: (B, T, H*D), q, k, v, mask as attention's; dq: (B, T, H*D), dk, dv: (B, T, K*D)
const Operation op::attention_gradient = {
    .name = "attention_gradient",
    .kind = OperationKind::attention,
    .autocast = Autocast::low_precision,
    .shapes = query_key_value_shapes,
    .flops = attention_gradient_flops,
    .bytes = read_once_write_once,
    .products = ProductShare::some,
};

}  // namespace assay
