#include <algorithm>

#include "base/error.h"
#include "program/operation.h"

// Keys and values of tokens that were run before, kept between runs. A row of the cache has S slots, and its token
// number n lies in slot n mod S: a layer with a window has as few slots as its window and one run's tokens need.

namespace assay {
namespace {

/// Places among the inputs.
namespace append {
constexpr std::size_t first_cache = 4;
}
namespace attend {
constexpr std::size_t q = 0, k = 1, v = 2, first_scale = 5, sinks = 7;
}

std::vector<SymbolicShape> cache_shapes(const Program& program, const Node& node) {
  std::vector<SymbolicShape> shapes;
  for (std::size_t i = append::first_cache; i < node.inputs.size(); ++i)
    shapes.push_back(input(program, node, i).shape);
  return shapes;
}

std::vector<SymbolicShape> attended_shape(const Program& program, const Node& node) {
  const Attributes& a = node.attributes;
  ASSAY_ASSERT(input(program, node, attend::q).shape.back().factor == a.heads * a.head_dim);
  ASSAY_ASSERT(input(program, node, attend::k).shape.back().factor == a.kv_heads * a.head_dim);
  return same_shape(program, node);
}

/// What is new is read and written once; old tokens are not touched.
double append_bytes(const Program& program, const Node& node, Extent extent) {
  const auto tokens = static_cast<double>(extent.batch * extent.seq);
  double total = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!has_input(node, i)) continue;
    if (i < append::first_cache)
      total += static_cast<double>(storage_bytes(program, node.inputs[i], extent));
    else
      total += tokens * static_cast<double>(input(program, node, i).shape.back().factor) *
               static_cast<double>(size_of(input(program, node, i).dtype));
  }
  return total;
}

/// Keys that the queries of a row see, added up.
double seen_pairs(const Attributes& a, Extent extent) {
  double pairs = 0;
  for (std::int64_t t = 0; t < extent.seq; ++t) {
    const std::int64_t past = extent.past + t + 1;
    pairs += static_cast<double>(a.window > 0 ? std::min(past, a.window) : past);
  }
  return pairs;
}

double cached_attention_flops(const Program&, const Node& node, Extent extent) {
  const Attributes& a = node.attributes;
  const double pairs = static_cast<double>(extent.batch * a.heads) * seen_pairs(a, extent);
  return attention_flops_a_pair(a.head_dim) * pairs;
}

/// Keys and values that any query sees, once.
double cached_attention_bytes(const Program& program, const Node& node, Extent extent) {
  const Attributes& a = node.attributes;
  const std::int64_t all = extent.past + extent.seq;
  const std::int64_t tokens = extent.batch * (a.window > 0 ? std::min(all, a.window + extent.seq - 1) : all);
  double a_token = 0;
  for (std::size_t i = attend::k; i < std::min(node.inputs.size(), attend::sinks); ++i) {
    if (!has_input(node, i) || (i > attend::v && i < attend::first_scale)) continue;
    a_token += static_cast<double>(input(program, node, i).shape.back().factor) *
               static_cast<double>(size_of(input(program, node, i).dtype));
  }
  return a_token * static_cast<double>(tokens) +
         2.0 * static_cast<double>(storage_bytes(program, node.inputs[attend::q], extent));
}

}  // namespace

CachedKeys cached_keys(const Attributes& attributes, std::int64_t tokens) {
  return {attributes.window > 0 ? std::max<std::int64_t>(0, tokens - attributes.window) : 0, tokens};
}

// Writes the real tokens of k and v (B, T, K*D; real as the mask u8 (B, T) says) behind the lengths[b] that each row
// of the caches (B, S, K*D) has; everything else in them stays. In s8 each key head of a token has a scale of its own,
// its largest magnitude over 127, in k_scales and v_scales f32 (B, S, K).
// inputs: k, v, mask, lengths s32 (B), k_cache, v_cache [, k_scales, v_scales]; outputs: the caches and scales
const Operation op::append_cache = {
    .name = "append_cache",
    .kind = OperationKind::attention,
    .autocast = Autocast::widest,
    .shapes = cache_shapes,
    .flops = no_work,
    .bytes = append_bytes,
    .updates = static_cast<int>(append::first_cache),
};

// attention of new queries over what the cache holds once append_cache has added their keys: query t of row b sees the
// tokens up to its own, lengths[b] and the real ones among 0 .. t, and of those the last `window`. A query that sees
// none gets zeros.
// inputs: q (B, T, H*D), k_cache, v_cache (B, S, K*D), mask u8 (B, T), lengths s32 (B) [, k_scales, v_scales (B, S, K)]
// [, sinks f32 (H), as softmax has them]
const Operation op::cached_attention = {
    .name = "cached_attention",
    .kind = OperationKind::attention,
    .autocast = Autocast::low_precision,
    .shapes = attended_shape,
    .flops = cached_attention_flops,
    .bytes = cached_attention_bytes,
    .products = ProductShare::some,
};

}  // namespace assay
