#include "kernels/cpu/cached_attention_work.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/attention_softmax-inl.h"
#include "kernels/cpu/attention_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// What of K and V stands packed in a part's scratch.
struct PackedHead {
  std::int64_t batch = -1;
  std::int64_t kv_head = -1;
  RealKeys keys;
};

void pack_head(const AttentionWork& work, const AttentionItem& item, PackedHead& packed, std::byte* scratch) {
  if (packed.batch == item.batch && packed.kv_head == item.kv_head) return;
  if (packed.batch != item.batch)
    packed.keys =
        work.lengths == nullptr ? load_mask(work, item.batch, scratch) : load_lengths(work, item.batch, scratch);
  pack_keys(work, {work, work.k, item.batch, item.kv_head, packed.keys}, packed.keys, scratch);
  pack_values(work, {work, work.v, item.batch, item.kv_head, packed.keys}, packed.keys, scratch);
  packed.batch = item.batch;
  packed.kv_head = item.kv_head;
}

void attend(const AttentionWork& work, const AttentionItem& item, const RealKeys& all, std::byte* scratch) {
  const std::int64_t rows = std::min(query_block, work.seq - item.query);
  const RealKeys keys = visible(work, all, item.query, rows);
  const std::int64_t first_row = item.batch * work.seq + item.query;
  const std::int64_t column = item.head * work.attributes.head_dim;
  auto* scores = reinterpret_cast<float*>(scratch + work.scratch.scores);
  const auto* bias = keys.holes ? reinterpret_cast<const float*>(scratch + work.scratch.bias) : nullptr;
  const Sink32 sink = sink_of_head(work, item.head);
  float factors[query_block];
  load_queries(work, first_row, column, rows, scratch);
  multiply_keys(work, rows, keys, scratch);
  for (std::int64_t row = 0; row < rows; ++row) {
    const Sink out = {scratch + work.scratch.probabilities + row * probability_stride(work), work.product.operand};
    const RealKeys seen = visible(work, keys, item.query + row);
    factors[row] = softmax_row(work, score_row(scores + row * panel, keys), seen, bias, sink, out);
  }
  multiply_values(work, rows, keys, scratch);
  const auto* context = reinterpret_cast<const float*>(scratch + work.scratch.context);
  for (std::int64_t row = 0; row < rows; ++row)
    store_context(work, context + row * panel, factors[row], shifted(work.y[first_row + row], column));
}

void attention_items(const AttentionWork& work, std::int64_t begin, std::int64_t end, std::byte* scratch) {
  PackedHead packed;
  for (std::int64_t i = begin; i < end; ++i) {
    const AttentionItem item(work, i);
    pack_head(work, item, packed, scratch);
    attend(work, item, packed.keys, scratch);
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(attention_items);

namespace {

/// Gives the work the memory of one run.
using BindAttention = void (*)(AttentionWork& work, const Call& call, const Memory& memory);

void bind_attention(AttentionWork& work, const Call& call, const Memory& memory) {
  work.q = source_rows(call, memory, 0);
  work.k = {source_rows(call, memory, 1)};
  work.v = {source_rows(call, memory, 2)};
  work.mask = memory.in<std::uint8_t>(3);
  work.sinks = memory.in<float>(4);
  work.y = sink_rows(call, memory, 0);
}

void bind_cached_attention(AttentionWork& work, const Call& call, const Memory& memory) {
  bind_attention(work, call, memory);
  work.lengths = memory.in<std::int32_t>(4);
  work.k.scales = memory.in<float>(5);
  work.v.scales = memory.in<float>(6);
  work.sinks = memory.in<float>(7);
}

Prepared prepared_attention(const Call& call, const MachineFacts& facts, const AttentionWork& shape,
                            BindAttention bind) {
  const char* target = choose_vector_target(facts);
  const auto items = &HWY_DYNAMIC_DISPATCH(attention_items);
  const auto run = [call, shape, items, bind](const Memory& memory) {
    AttentionWork work = shape;
    bind(work, call, memory);
    for_parts(work.items(), work.steps(2), call.threads, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
      items(work, begin, end, memory.workspace + part * work.scratch.bytes);
    });
  };
  Prepared prepared = vector_kernel(make_kernel(run), target);
  prepared.workspace_bytes = static_cast<std::size_t>(shape.scratch.bytes * std::max(call.threads, 1));
  prepared.operand = shape.product.operand;
  return prepared;
}

Offer offer_attention(const Call& call, const MachineFacts& facts, const AttentionProduct& product) {
  if (const char* why = unfit_for_attention(call, 3)) return Declined{why};
  if (call.in(4).present && call.in(4).dtype != DType::f32) return Declined{"the sinks are not f32"};
  if (const char* why = unfit_for_product(product, call, 3, facts)) return Declined{why};
  return described(prepared_attention(call, facts, attention_work(call, product), bind_attention), call, product,
                   "fused");
}

/// With fewer, packing the keys that they share costs more than reading them as they lie.
constexpr std::int64_t least_queries_over_a_cache = 16;

Offer offer_cached_attention(const Call& call, const MachineFacts& facts, const AttentionProduct& product) {
  if (const char* why = unfit_for_cache(call)) return Declined{why};
  if (call.in(0).shape[1] < least_queries_over_a_cache) return Declined{"few queries share the keys that it packs"};
  if (const char* why = unfit_for_product(product, call, 3, facts)) return Declined{why};
  return described(prepared_attention(call, facts, cached_attention_work(call, product), bind_cached_attention), call,
                   product, "fused over a cache");
}

}  // namespace

Offer attention_bf16_tiles(const Call& call, const MachineFacts& facts) {
  return offer_attention(call, facts, bf16_tiles);
}

Offer attention_bf16_dot(const Call& call, const MachineFacts& facts) {
  return offer_attention(call, facts, bf16_dot_products);
}

Offer attention_f32(const Call& call, const MachineFacts& facts) {
  return offer_attention(call, facts, f32_products(facts));
}

Offer cached_attention_bf16_tiles(const Call& call, const MachineFacts& facts) {
  return offer_cached_attention(call, facts, bf16_tiles);
}

Offer cached_attention_bf16_dot(const Call& call, const MachineFacts& facts) {
  return offer_cached_attention(call, facts, bf16_dot_products);
}

Offer cached_attention_f32(const Call& call, const MachineFacts& facts) {
  return offer_cached_attention(call, facts, f32_products(facts));
}

}  // namespace assay::cpu
#endif
