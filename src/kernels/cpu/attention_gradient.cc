#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_gradient.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/attention_softmax-inl.h"
#include "kernels/cpu/attention_sums-inl.h"

// The gradient of attention without a stored T x T matrix, and the transposed product of runs without fusion.

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// One query's scores to probabilities p and its dp to ds = p (dp - the sum of p dp), both where they stand; ds into
/// `out` too, in the product's dtype. `slopes`: of the soft cap, null where there is none.
HWY_INLINE void gradient_row(const AttentionWork& work, const ScoreRow& p, const ScoreRow& ds, float largest,
                             const float* slopes, Sink out) {
  V32 sums = hn::Zero(f32_lanes);
  V32 dots = hn::Zero(f32_lanes);
  exponentials(work, p, largest, [&](std::int64_t key, V32 e) HWY_ATTR {
    sums = hn::Add(sums, e);
    dots = hn::MulAdd(e, hn::LoadU(f32_lanes, ds.at(key)), dots);
    hn::StoreU(e, f32_lanes, p.at(key));
  });
  const float share = share_of(sum_of(sums));
  const V32 shares = hn::Set(f32_lanes, share);
  const V32 mean = hn::Set(f32_lanes, share * sum_of(dots));
  for (std::int64_t key = p.base; key < p.end; key += lane_count()) {
    const V32 probability = hn::Mul(hn::LoadU(f32_lanes, p.at(key)), shares);
    V32 gradient = hn::Mul(probability, hn::Sub(hn::LoadU(f32_lanes, ds.at(key)), mean));
    if (slopes != nullptr) gradient = hn::Mul(gradient, hn::LoadU(f32_lanes, slopes + (key - p.base)));
    hn::StoreU(probability, f32_lanes, p.at(key));
    hn::StoreU(gradient, f32_lanes, ds.at(key));
    store(gradient, out, key - p.base);
  }
}

/// p and ds of a block of queries, which see no more than `keys`.
void gradient_rows(const GradientWork& work, const AttentionItem& item, std::int64_t rows, const RealKeys& keys,
                   std::byte* scratch) {
  const AttentionWork& scores = work.scores;
  auto* p = reinterpret_cast<float*>(scratch + scores.scratch.scores);
  auto* ds = reinterpret_cast<float*>(scratch + work.products.scratch.scores);
  const auto* bias = keys.holes ? reinterpret_cast<const float*>(scratch + scores.scratch.bias) : nullptr;
  float* slopes = scores.attributes.cap > 0 ? reinterpret_cast<float*>(scratch + scores.scratch.slopes) : nullptr;
  for (std::int64_t row = 0; row < rows; ++row) {
    const ScoreRow p_row = score_row(p + row * panel, keys);
    if (slopes != nullptr) cap_scores(scores, p_row, slopes);
    const float largest = hide_keys(p_row, visible(scores, keys, item.query + row), bias);
    gradient_row(scores, p_row, score_row(ds + row * panel, keys), largest, slopes,
                 {scratch + scores.scratch.probabilities + row * probability_stride(scores), scores.product.operand});
  }
}

void store_query_gradients(const GradientWork& work, std::int64_t first_row, std::int64_t column, std::int64_t rows,
                           std::byte* scratch) {
  const AttentionWork& scores = work.scores;
  const auto* context = reinterpret_cast<const float*>(scratch + scores.scratch.context);
  for (std::int64_t row = 0; row < rows; ++row)
    store_context(scores, context + row * panel, static_cast<float>(scores.attributes.scale),
                  shifted(scores.y[first_row + row], column));
}

void gradient_block(const GradientWork& work, const AttentionItem& item, const RealKeys& all, std::byte* scratch) {
  const AttentionWork& scores = work.scores;
  const AttentionWork& products = work.products;
  const std::int64_t rows = std::min(query_block, scores.seq - item.query);
  const RealKeys keys = visible(scores, all, item.query, rows);
  const std::int64_t first_row = item.batch * scores.seq + item.query;
  const std::int64_t column = item.head * scores.attributes.head_dim;
  for (const AttentionWork* one : {&scores, &products}) {
    load_queries(*one, first_row, column, rows, scratch);
    multiply_keys(*one, rows, keys, scratch);
  }
  gradient_rows(work, item, rows, keys, scratch);
  transpose_queries(work, products, rows, scratch);
  add_to_sums(work, work.dv, rows, keys, scratch + scores.scratch.scores, scratch);
  transpose_queries(work, scores, rows, scratch);
  add_to_sums(work, work.dk, rows, keys, scratch + products.scratch.scores, scratch);
  if (scores.y.data == nullptr) return;
  multiply_values(scores, rows, keys, scratch);
  store_query_gradients(work, first_row, column, rows, scratch);
}

void gradient_units(const GradientWork& work, std::int64_t begin, std::int64_t end, std::byte* scratch) {
  const AttentionWork& scores = work.scores;
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t batch = unit / work.slices / scores.attributes.kv_heads;
    const std::int64_t kv_head = unit / work.slices % scores.attributes.kv_heads;
    const RealKeys keys = load_mask(scores, batch, scratch);
    const KeyHead k(scores, scores.k, batch, kv_head, keys);
    pack_keys(scores, k, keys, scratch);
    pack_values(scores, k, keys, scratch);
    pack_keys(work.products, {work.products, work.products.k, batch, kv_head, keys}, keys, scratch);
    run_unit(work, unit, scratch,
             [&](const AttentionItem& item) HWY_ATTR { gradient_block(work, item, keys, scratch); });
  }
}

/// Rows of a stored (B, H, T, T) matrix as the block's panels of f32.
void load_matrix(const GradientWork& work, const AttentionItem& item, std::int64_t rows, std::byte* scratch) {
  const AttentionWork& scores = work.scores;
  auto* panels = reinterpret_cast<float*>(scratch + scores.scratch.scores);
  const std::int64_t first = (item.batch * scores.attributes.heads + item.head) * scores.seq + item.query;
  for (std::int64_t row = 0; row < rows; ++row) {
    const Source from = scores.k[first + row];
    for (std::int64_t key = 0; key < scores.seq; key += panel) {
      const Sink to = sink_of(panels + key * query_block + row * panel);
      for_vectors(std::min(panel, scores.seq - key),
                  [&](auto lanes, std::int64_t i) HWY_ATTR { lanes.put(lanes.get(from, key + i), to, i); });
    }
  }
}

/// The matrix stands in scores.k, the rows that it multiplies in scores.q.
void transposed_units(const GradientWork& work, std::int64_t begin, std::int64_t end, std::byte* scratch) {
  const AttentionWork& scores = work.scores;
  for (std::int64_t unit = begin; unit < end; ++unit) {
    run_unit(work, unit, scratch, [&](const AttentionItem& item) HWY_ATTR {
      const std::int64_t rows = std::min(query_block, scores.seq - item.query);
      load_queries(scores, item.batch * scores.seq + item.query, item.head * scores.attributes.head_dim, rows, scratch);
      transpose_queries(work, scores, rows, scratch);
      load_matrix(work, item, rows, scratch);
      add_to_sums(work, work.dk, rows, {0, scores.seq, false}, scratch + scores.scratch.scores, scratch);
    });
  }
}

void slices(const GradientWork& work, std::int64_t begin, std::int64_t end, std::byte* workspace) {
  store_slices(work, begin, end, workspace);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(gradient_units);
HWY_EXPORT(transposed_units);
HWY_EXPORT(slices);

namespace {

using Units = void (*)(const GradientWork& work, std::int64_t begin, std::int64_t end, std::byte* scratch);

/// The work of a call and the code for it, in the chosen instruction set.
struct Plan {
  GradientWork shape;
  std::int64_t matmuls = 0;
  Units units = nullptr;
  Units slices = nullptr;
};

void run_plan(const Plan& plan, const GradientWork& work, int threads, std::byte* workspace) {
  for_parts(work.units(), work.steps(plan.matmuls) / work.slices, threads,
            [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
              plan.units(work, begin, end, workspace + part * work.scratch_bytes);
            });
  if (work.slices == 1) return;
  for_parts(work.key_heads(), work.slices * work.sums_bytes() / 4, threads,
            [&](std::int64_t, std::int64_t begin, std::int64_t end) { plan.slices(work, begin, end, workspace); });
}

/// Gives the work the memory of one run.
using Bind = void (*)(GradientWork& work, const Call& call, const Memory& memory);

void bind_gradient(GradientWork& work, const Call& call, const Memory& memory) {
  work.products.q = source_rows(call, memory, 0);
  work.scores.q = source_rows(call, memory, 1);
  work.scores.k = {source_rows(call, memory, 2)};
  work.products.k = {source_rows(call, memory, 3)};
  work.scores.mask = memory.in<std::uint8_t>(4);
  work.scores.y = sink_rows(call, memory, 0);
  work.dk.to = sink_rows(call, memory, 1);
  work.dv.to = sink_rows(call, memory, 2);
}

void bind_transposed(GradientWork& work, const Call& call, const Memory& memory) {
  work.scores.k = {source_rows(call, memory, 0)};
  work.scores.q = source_rows(call, memory, 1);
  work.dk.to = sink_rows(call, memory, 0);
}

Prepared prepared_plan(const Call& call, Plan plan, const AttentionProduct& product, const char* target, Bind bind) {
  plan.shape = gradient_work(call, product, plan.matmuls);
  plan.slices = &HWY_DYNAMIC_DISPATCH(slices);
  plan.shape.dk.factor = static_cast<float>(call.attributes.scale);
  const auto run = [call, plan, bind](const Memory& memory) {
    GradientWork work = plan.shape;
    bind(work, call, memory);
    run_plan(plan, work, call.threads, memory.workspace);
  };
  Prepared prepared = vector_kernel(make_kernel(run), target);
  prepared.workspace_bytes = static_cast<std::size_t>(plan.shape.scratch_bytes * std::max(call.threads, 1));
  prepared.operand = product.operand;
  return prepared;
}

Offer offer_gradient(const Call& call, const MachineFacts& facts, const AttentionProduct& product) {
  if (const char* why = unfit_for_attention(call, 4)) return Declined{why};
  if (const char* why = unfit_for_product(product, call, 4, facts)) return Declined{why};
  const char* target = choose_vector_target(facts);
  const Plan plan = {.shape = {}, .matmuls = 5, .units = &HWY_DYNAMIC_DISPATCH(gradient_units)};
  return described(prepared_plan(call, plan, product, target, bind_gradient), call, product,
                   "fused, probabilities again");
}

Offer offer_transposed(const Call& call, const MachineFacts& facts, const AttentionProduct& product) {
  if (const char* why = unfit_for_vectors(call)) return Declined{why};
  if (const char* why = unfit_for_product(product, call, 2, facts)) return Declined{why};
  const char* target = choose_vector_target(facts);
  const Plan plan = {.shape = {}, .matmuls = 1, .units = &HWY_DYNAMIC_DISPATCH(transposed_units)};
  return described(prepared_plan(call, plan, product, target, bind_transposed), call, product, "the matrix as panels");
}

}  // namespace

Offer attention_gradient_bf16_tiles(const Call& call, const MachineFacts& facts) {
  return offer_gradient(call, facts, bf16_tiles);
}

Offer attention_gradient_bf16_dot(const Call& call, const MachineFacts& facts) {
  return offer_gradient(call, facts, bf16_dot_products);
}

Offer attention_gradient_f32(const Call& call, const MachineFacts& facts) {
  return offer_gradient(call, facts, f32_products(facts));
}

Offer attention_context_transposed_bf16_tiles(const Call& call, const MachineFacts& facts) {
  return offer_transposed(call, facts, bf16_tiles);
}

Offer attention_context_transposed_bf16_dot(const Call& call, const MachineFacts& facts) {
  return offer_transposed(call, facts, bf16_dot_products);
}

Offer attention_context_transposed_f32(const Call& call, const MachineFacts& facts) {
  return offer_transposed(call, facts, f32_products(facts));
}

}  // namespace assay::cpu
#endif
