#include <cmath>
#include <limits>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_parts.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/attention_tiles-inl.h"
#include "kernels/cpu/vector_math-inl.h"

// Attention's three steps on their own, for runs without fusion.

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// Rows of scores (B * H * T, T) for the items [begin, end).
void score_items(const AttentionWork& work, std::int64_t begin, std::int64_t end, std::byte* scratch) {
  const RealKeys keys = {0, work.seq, false};
  const auto* scores = reinterpret_cast<const float*>(scratch + work.scratch.scores);
  const V32 factors = hn::Set(f32_lanes, static_cast<float>(work.attributes.scale));
  std::int64_t packed = -1;
  for (std::int64_t i = begin; i < end; ++i) {
    const AttentionItem item(work, i);
    const std::int64_t rows = std::min(query_block, work.seq - item.query);
    const std::int64_t kv = item.batch * work.attributes.kv_heads + item.kv_head;
    if (std::exchange(packed, kv) != kv) pack_keys(work, {work, work.k, item.batch, item.kv_head, keys}, keys, scratch);
    load_queries(work, item.batch * work.seq + item.query, item.head * work.attributes.head_dim, rows, scratch);
    multiply_keys(work, rows, keys, scratch);
    for (std::int64_t row = 0; row < rows; ++row) {
      const Sink y = work.y[(item.batch * work.attributes.heads + item.head) * work.seq + item.query + row];
      for (std::int64_t key = 0; key < work.seq; key += panel) {
        const Source from = source_of(scores + (key / panel * query_block + row) * panel);
        for_vectors(std::min(panel, work.seq - key), [&](auto lanes, std::int64_t j) HWY_ATTR {
          lanes.put(hn::Mul(lanes.get(from, j), factors), y, key + j);
        });
      }
    }
  }
}

/// Rows of context from rows of probabilities, which stand in work.q.
void context_items(const AttentionWork& work, std::int64_t begin, std::int64_t end, std::byte* scratch) {
  const RealKeys keys = {0, work.seq, false};
  const auto* context = reinterpret_cast<const float*>(scratch + work.scratch.context);
  std::int64_t packed = -1;
  for (std::int64_t i = begin; i < end; ++i) {
    const AttentionItem item(work, i);
    const std::int64_t rows = std::min(query_block, work.seq - item.query);
    const std::int64_t kv = item.batch * work.attributes.kv_heads + item.kv_head;
    if (std::exchange(packed, kv) != kv)
      pack_values(work, {work, work.v, item.batch, item.kv_head, keys}, keys, scratch);
    const std::int64_t first = (item.batch * work.attributes.heads + item.head) * work.seq + item.query;
    for (std::int64_t row = 0; row < rows; ++row)
      load_row(work.product, work.q[first + row], work.seq,
               scratch + work.scratch.probabilities + row * probability_stride(work));
    multiply_values(work, rows, keys, scratch);
    for (std::int64_t row = 0; row < rows; ++row)
      store_context(work, context + row * panel, static_cast<float>(work.attributes.scale),
                    shifted(work.y[item.batch * work.seq + item.query + row], item.head * work.attributes.head_dim));
  }
}

/// x with -infinity wherever the query at that row sees nothing, in f32.
void load_visible(const Call& call, const Memory& memory, std::int64_t row, Source x, float* scores) {
  const Shape& shape = call.in(0).shape;  // (B, H, T, T)
  const std::int64_t seq = shape[3];
  const auto* mask = memory.in<std::uint8_t>(1);
  const auto [begin, end] = seen_keys(call.attributes, row % seq, seq);
  for_vectors(end, [&](auto lanes, std::int64_t i) HWY_ATTR { lanes.put(lanes.get(x, i), sink_of(scores), i); });
  std::fill(scores, scores + begin, -std::numeric_limits<float>::infinity());
  std::fill(scores + end, scores + seq, -std::numeric_limits<float>::infinity());
  if (mask == nullptr) return;
  const std::uint8_t* keys = mask + row / (shape[1] * seq) * seq;
  for (std::int64_t i = begin; i < end; ++i) {
    if (keys[i] == 0) scores[i] = -std::numeric_limits<float>::infinity();
  }
}

void softmax_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* scratch) {
  const SourceRows x = source_rows(call, memory, 0);
  const SinkRows y = sink_rows(call, memory, 0);
  const std::int64_t heads = call.in(0).shape[1];
  const std::int64_t seq = call.in(0).shape[3];
  const auto* const sinks = memory.in<float>(2);
  for (std::int64_t row = begin; row < end; ++row) {
    load_visible(call, memory, row, x[row], scratch);
    const float sink = sinks == nullptr ? -std::numeric_limits<float>::infinity() : sinks[row / seq % heads];
    const float largest = std::max(sink, *std::max_element(scratch, scratch + seq));
    const bool blind = largest == -std::numeric_limits<float>::infinity();
    const V32 most = hn::Set(f32_lanes, blind ? 0 : largest);
    V32 sum = hn::Zero(f32_lanes);
    for_vectors(seq, [&](auto lanes, std::int64_t i) HWY_ATTR {
      const V32 p = lanes.zero_beyond(exp(hn::Sub(lanes.get(source_of(scratch), i), most)));
      sum = hn::Add(sum, p);
      lanes.put(p, sink_of(scratch), i);
    });
    const V32 share = hn::Set(f32_lanes, blind ? 0 : 1.0F / (sum_of(sum) + std::exp(sink - largest)));
    const Sink to = y[row];
    for_vectors(seq, [&](auto lanes, std::int64_t i)
                         HWY_ATTR { lanes.put(hn::Mul(lanes.get(source_of(scratch), i), share), to, i); });
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(score_items);
HWY_EXPORT(context_items);
HWY_EXPORT(softmax_rows);

namespace {

using Items = void (*)(const AttentionWork& work, std::int64_t begin, std::int64_t end, std::byte* scratch);

/// One of the two products over the items of the work; `choose` gives its code once the instruction set is chosen.
Prepared prepared_product(const Call& call, const MachineFacts& facts, const AttentionProduct& product,
                          Items (*choose)()) {
  const char* target = choose_vector_target(facts);
  const Items items = choose();
  const AttentionWork shape = attention_work(call, product);
  const auto run = [call, shape, items](const Memory& memory) {
    AttentionWork work = shape;
    work.q = source_rows(call, memory, 0);
    work.k = work.v = {source_rows(call, memory, 1)};
    work.y = sink_rows(call, memory, 0);
    for_parts(work.items(), work.steps(1), call.threads, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
      items(work, begin, end, memory.workspace + part * work.scratch.bytes);
    });
  };
  Prepared prepared = vector_kernel(make_kernel(run), target);
  prepared.workspace_bytes = static_cast<std::size_t>(shape.scratch.bytes * std::max(call.threads, 1));
  prepared.operand = product.operand;
  return prepared;
}

Items choose_scores() {
  return &HWY_DYNAMIC_DISPATCH(score_items);
}

Items choose_context() {
  return &HWY_DYNAMIC_DISPATCH(context_items);
}

Offer offer_product(const Call& call, const MachineFacts& facts, const AttentionProduct& product, Items (*choose)()) {
  if (const char* why = unfit_for_vectors(call)) return Declined{why};
  if (const char* why = unfit_for_product(product, call, 2, facts)) return Declined{why};
  return described(prepared_product(call, facts, product, choose), call, product, "packed heads");
}

}  // namespace

Offer attention_scores_bf16_tiles(const Call& call, const MachineFacts& facts) {
  return offer_product(call, facts, bf16_tiles, choose_scores);
}

Offer attention_scores_bf16_dot(const Call& call, const MachineFacts& facts) {
  return offer_product(call, facts, bf16_dot_products, choose_scores);
}

Offer attention_scores_f32(const Call& call, const MachineFacts& facts) {
  return offer_product(call, facts, f32_products(facts), choose_scores);
}

Offer attention_context_bf16_tiles(const Call& call, const MachineFacts& facts) {
  return offer_product(call, facts, bf16_tiles, choose_context);
}

Offer attention_context_bf16_dot(const Call& call, const MachineFacts& facts) {
  return offer_product(call, facts, bf16_dot_products, choose_context);
}

Offer attention_context_f32(const Call& call, const MachineFacts& facts) {
  return offer_product(call, facts, f32_products(facts), choose_context);
}

Offer softmax_vectors(const Call& call, const MachineFacts& facts) {
  if (call.in(1).present && call.in(1).dtype != DType::u8) return Declined{"the mask is not u8"};
  if (call.in(2).present && call.in(2).dtype != DType::f32) return Declined{"the sinks are not f32"};
  return row_offer(call, facts, with_scratch_row(call), [] { return &HWY_DYNAMIC_DISPATCH(softmax_rows); });
}

}  // namespace assay::cpu
#endif
