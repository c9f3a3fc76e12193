#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/relative_scores.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// The table's row of each distance that a sequence has: logarithms are taken once, not for each pair.
class RowOfDistance {
 public:
  /// `scratch`: 2 seq floats.
  RowOfDistance(const RelativePositions& positions, std::int64_t seq, float* scratch) : rows_(scratch), seq_(seq) {
    for (std::int64_t distance = 1 - seq; distance < seq; ++distance)
      scratch[distance + seq] = static_cast<float>(relative_row(positions, distance));
  }
  std::int64_t operator()(std::int64_t distance) const { return static_cast<std::int64_t>(rows_[distance + seq_]); }

 private:
  const float* rows_;
  std::int64_t seq_;
};

/// Columns of one head.
struct Head {
  std::int64_t first;
  std::int64_t width;

  HWY_INLINE Source operator()(Source row) const { return shifted(row, first); }
};

HWY_INLINE float dot(Source a, Source b, std::int64_t width) {
  V32 sum = hn::Zero(f32_lanes);
  for_vectors(width,
              [&](auto lanes, std::int64_t i) HWY_ATTR { sum = hn::MulAdd(lanes.get(a, i), lanes.get(b, i), sum); });
  return sum_of(sum);
}

/// sums += factor * row
HWY_INLINE void add_scaled(float factor, Source row, std::int64_t width, float* sums) {
  const V32 factors = hn::Set(f32_lanes, factor);
  for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
    lanes.put(hn::MulAdd(factors, lanes.get(row, i), lanes.get(source_of(sums), i)), sink_of(sums), i);
  });
}

HWY_INLINE void put_scaled(float factor, const float* sums, std::int64_t width, Sink to) {
  const V32 factors = hn::Set(f32_lanes, factor);
  for_vectors(width, [&](auto lanes, std::int64_t i)
                         HWY_ATTR { lanes.put(hn::Mul(factors, lanes.get(source_of(sums), i)), to, i); });
}

HWY_INLINE float element(Source row, std::int64_t i) {
  return hn::GetLane(load_first(row, i, 1));
}

/// Rows are queries of a head.
void relative_scores_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end,
                          float* scratch) {
  const Attributes& a = call.attributes;
  const std::int64_t seq = call.in(0).width();
  const SourceRows scores = source_rows(call, memory, 0);
  const SourceRows x = source_rows(call, memory, 1);
  const SourceRows table = source_rows(call, memory, 2);
  const SinkRows sums = sink_rows(call, memory, 0);
  const RowOfDistance row_of(a.relative, seq, scratch);
  float* const added = scratch + 2 * seq;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t query = row % seq;
    const Head head = {row / seq % a.heads * a.head_dim, a.head_dim};
    const std::int64_t first = row / (seq * a.heads) * seq;
    for (std::int64_t key = 0; key < seq; ++key) {
      const std::int64_t token = a.scored_by == ScoredBy::query ? query : key;
      added[key] = dot(head(x[first + token]), head(table[row_of(query - key)]), head.width);
    }
    const V32 scale = hn::Set(f32_lanes, static_cast<float>(a.scale));
    const Source from = scores[row];
    const Sink to = sums[row];
    for_vectors(seq, [&](auto lanes, std::int64_t i) HWY_ATTR {
      lanes.put(hn::MulAdd(scale, lanes.get(source_of(added), i), lanes.get(from, i)), to, i);
    });
  }
}

/// Rows are tokens.
void relative_input_gradient_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end,
                                  float* scratch) {
  const Attributes& a = call.attributes;
  const std::int64_t seq = call.in(0).width();
  const SourceRows ds = source_rows(call, memory, 0);
  const SourceRows table = source_rows(call, memory, 1);
  const SinkRows dx = sink_rows(call, memory, 0);
  const RowOfDistance row_of(a.relative, seq, scratch);
  float* const sums = scratch + 2 * seq;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t token = row % seq;
    for (std::int64_t h = 0; h < a.heads; ++h) {
      const Head head = {h * a.head_dim, a.head_dim};
      const std::int64_t first = (row / seq * a.heads + h) * seq;
      std::fill_n(sums, a.head_dim, 0.0F);
      for (std::int64_t other = 0; other < seq; ++other) {
        const bool by_query = a.scored_by == ScoredBy::query;
        const std::int64_t query = by_query ? token : other;
        const std::int64_t key = by_query ? other : token;
        add_scaled(element(ds[first + query], key), head(table[row_of(query - key)]), head.width, sums);
      }
      put_scaled(static_cast<float>(a.scale), sums, head.width, shifted(dx[row], head.first));
    }
  }
}

/// One row's share of what one head scored, of all pairs at that distance.
void add_pairs(const Call& call, const Memory& memory, std::int64_t h, std::int64_t distance, float* sums) {
  const Attributes& a = call.attributes;
  const std::int64_t batches = call.in(0).shape[0];
  const std::int64_t seq = call.in(0).width();
  const SourceRows ds = source_rows(call, memory, 0);
  const SourceRows x = source_rows(call, memory, 1);
  const Head head = {h * a.head_dim, a.head_dim};
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    for (std::int64_t query = std::max<std::int64_t>(0, distance); query < std::min(seq, seq + distance); ++query) {
      const std::int64_t key = query - distance;
      const std::int64_t token = a.scored_by == ScoredBy::query ? query : key;
      const float factor = element(ds[(batch * a.heads + h) * seq + query], key);
      add_scaled(factor, head(x[batch * seq + token]), head.width, sums);
    }
  }
}

/// Rows are the table's.
void relative_table_gradient_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end,
                                  float* scratch) {
  const Attributes& a = call.attributes;
  const std::int64_t seq = call.in(0).width();
  const SinkRows dtable = sink_rows(call, memory, 0);
  const RowOfDistance row_of(a.relative, seq, scratch);
  float* const sums = scratch + 2 * seq;
  for (std::int64_t row = begin; row < end; ++row) {
    for (std::int64_t h = 0; h < a.heads; ++h) {
      std::fill_n(sums, a.head_dim, 0.0F);
      for (std::int64_t distance = 1 - seq; distance < seq; ++distance) {
        if (row_of(distance) == row) add_pairs(call, memory, h, distance, sums);
      }
      put_scaled(static_cast<float>(a.scale), sums, a.head_dim, shifted(dtable[row], h * a.head_dim));
    }
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(relative_scores_rows);
HWY_EXPORT(relative_input_gradient_rows);
HWY_EXPORT(relative_table_gradient_rows);

namespace {

/// Of a call whose first input is (B, H, T, T): `rows` rows, each of which does its share of the pairs.
RowWork relative_work(const Call& call, std::int64_t rows) {
  const Attributes& a = call.attributes;
  const std::int64_t seq = call.in(0).width();
  const std::int64_t pairs = call.in(0).rows() * seq;
  const std::int64_t elements = pairs * a.head_dim / std::max<std::int64_t>(rows, 1);
  return {rows, elements, whole_lines(2 * seq + std::max(seq, a.head_dim))};
}

}  // namespace

Offer relative_scores_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, relative_work(call, call.in(0).rows()),
                   [] { return &HWY_DYNAMIC_DISPATCH(relative_scores_rows); });
}

Offer relative_input_gradient_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, relative_work(call, call.out(0).rows()),
                   [] { return &HWY_DYNAMIC_DISPATCH(relative_input_gradient_rows); });
}

Offer relative_table_gradient_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, relative_work(call, call.out(0).rows()),
                   [] { return &HWY_DYNAMIC_DISPATCH(relative_table_gradient_rows); });
}

}  // namespace assay::cpu
#endif
