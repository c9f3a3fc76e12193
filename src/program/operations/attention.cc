#include "base/error.h"
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

/// 2 B H D times the number of (query, key) pairs that are not masked away.
double half_of_attention(const Program&, const Node& node, Extent extent) {
  const Attributes& a = node.attributes;
  const auto t = static_cast<double>(extent.seq);
  const double pairs = a.causal ? t * (t + 1) / 2 : t * t;
  return 2.0 * static_cast<double>(extent.batch * a.heads * a.head_dim) * pairs;
}

double context_flops(const Program& program, const Node& node, Extent extent) {
  return half_of_attention(program, node, extent);
}

double whole_attention(const Program& program, const Node& node, Extent extent) {
  const double softmax_share = 5.0 / (2.0 * static_cast<double>(node.attributes.head_dim));
  return (2.0 + softmax_share) * half_of_attention(program, node, extent);
}

}  // namespace

// s = scale * q k^T    q: (B, T, H*D), k: (B, T, K*D), s: (B, H, T, T); query head h reads key head h / (H / K)
const Operation op::attention_scores = {
    .name = "attention_scores",
    .autocast = Autocast::low_precision,
    .shapes = score_shape,
    .flops = half_of_attention,
    .bytes = read_once_write_once,
};

// p = exp(s - max) / sum over the keys that are real (mask) and, if causal, not in the future; f32 inside.
// s, p: (B, H, T, T), mask: u8 (B, T). A query with no key to see gets zeros.
const Operation op::softmax = {
    .name = "softmax",
    .autocast = Autocast::full_precision,
    .shapes = same_shape,
    .flops = per_element<5>,
    .bytes = read_once_write_once,
};

// y = p v    p: (B, H, T, T), v: (B, T, K*D), y: (B, T, H*D)
const Operation op::attention_context = {
    .name = "attention_context",
    .autocast = Autocast::low_precision,
    .shapes = context_shape,
    .flops = context_flops,
    .bytes = read_once_write_once,
};

// The three above without a stored T x T matrix (Dao et al. 2022): q, k, v, mask -> (B, T, H*D)
const Operation op::attention = {
    .name = "attention",
    .autocast = Autocast::low_precision,
    .shapes = same_shape,
    .flops = whole_attention,
    .bytes = read_once_write_once,
};

}  // namespace assay
