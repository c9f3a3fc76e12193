#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rope.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/rope_table.h"
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// One head with pairs (i, i + half).
void rotate_halves(const RopeTable& table, std::int64_t position, Source x, Sink y) {
  const std::int64_t half = table.columns;
  const Source cosines = source_of(table.cosines.data() + position * half);
  const Source sines = source_of(table.sines.data() + position * half);
  for_vectors(half, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const V32 a = lanes.get(x, i);
    const V32 b = lanes.get(x, half + i);
    const V32 cosine = lanes.get(cosines, i);
    const V32 sine = lanes.get(sines, i);
    lanes.put(hn::NegMulAdd(b, sine, hn::Mul(a, cosine)), y, i);
    lanes.put(hn::MulAdd(a, sine, hn::Mul(b, cosine)), y, half + i);
  });
}

/// Element i + 1 beside element i and the other way round. A vector of one lane has no neighbour to swap with.
HWY_INLINE V32 swap_pairs(V32 value, [[maybe_unused]] Source x, [[maybe_unused]] std::int64_t i) {
#if HWY_TARGET == HWY_SCALAR
  (void)value;
  return load(x, i ^ 1);
#else
  return hn::Reverse2(f32_lanes, value);
#endif
}

/// One head with pairs (2i, 2i + 1): the table holds each cosine twice and each sine as -sin, sin.
void rotate_interleaved(const RopeTable& table, std::int64_t position, Source x, Sink y) {
  const Source cosines = source_of(table.cosines.data() + position * table.columns);
  const Source sines = source_of(table.sines.data() + position * table.columns);
  for_vectors(table.columns, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const V32 value = lanes.get(x, i);
    const V32 partner = swap_pairs(value, x, i);
    lanes.put(hn::MulAdd(partner, lanes.get(sines, i), hn::Mul(value, lanes.get(cosines, i))), y, i);
  });
}

void copy_columns(Source x, Sink y, std::int64_t count) {
  for_vectors(count, [&](auto lanes, std::int64_t i) HWY_ATTR { lanes.put(lanes.get(x, i), y, i); });
}

void rope_rows(const Call& call, const RopeTable& table, const Memory& memory, std::int64_t begin, std::int64_t end) {
  const Attributes& a = call.attributes;
  const SourceRows x = source_rows(call, memory, 0);
  const SinkRows y = sink_rows(call, memory, 0);
  const std::int64_t turned = rotary_columns(a);
  const auto* positions = memory.in<std::int32_t>(1);
  const auto rotate = a.pairs == RotaryPairs::halves ? rotate_halves : rotate_interleaved;
  for (std::int64_t token = begin; token < end; ++token) {
    const std::int64_t position = positions != nullptr ? positions[token] : token % table.positions;
    for (std::int64_t head = 0; head < a.heads; ++head) {
      const Source from = shifted(x[token], head * a.head_dim);
      const Sink to = shifted(y[token], head * a.head_dim);
      rotate(table, position, from, to);
      if (turned < a.head_dim) copy_columns(shifted(from, turned), shifted(to, turned), a.head_dim - turned);
    }
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(rope_rows);

Offer rope_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_vectors(call)) return Declined{why};
  const char* target = choose_vector_target(facts);
  const auto rows = &HWY_DYNAMIC_DISPATCH(rope_rows);
  const std::int64_t positions = call.in(1).present ? call.attributes.positions : call.in(0).shape[1];
  const auto run = [call, rows, table = rope_table(call.attributes, positions)](const Memory& memory) {
    for_parts(call.in(0).rows(), call.in(0).width(), call.threads,
              [&](std::int64_t, std::int64_t begin, std::int64_t end) { rows(call, *table, memory, begin, end); });
  };
  return vector_kernel(make_kernel(run), target);
}

}  // namespace assay::cpu
#endif
