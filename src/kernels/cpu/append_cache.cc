#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/append_cache.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/copy_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

float largest_of_head(Source x, std::int64_t head_dim) {
  V32 most = hn::Zero(f32_lanes);
  for_vectors(head_dim, [&](auto lanes, std::int64_t i)
                            HWY_ATTR { most = hn::Max(most, hn::Abs(lanes.zero_beyond(lanes.get(x, i)))); });
  return max_of(most);
}

/// One head of a token in s8; the scale that undoes it is returned.
float keep_in_s8(Source x, std::int64_t head_dim, std::int8_t* codes) {
  const float scale = largest_of_head(x, head_dim) / 127;
  const V32 inverse = hn::Set(f32_lanes, scale == 0 ? 0 : 1 / scale);
  const hn::Rebind<std::int8_t, F32> bytes;
  for_vectors(head_dim, [&](auto lanes, std::int64_t i) HWY_ATTR {
    std::int8_t narrow[hn::MaxLanes(f32_lanes)];
    hn::StoreU(hn::DemoteTo(bytes, hn::NearestInt(hn::Mul(lanes.get(x, i), inverse))), bytes, narrow);
    std::memcpy(codes + i, narrow, static_cast<std::size_t>(std::min(lane_count(), head_dim - i)));
  });
  return scale;
}

/// Tokens of a call's input `part` (0: keys, 1: values) to their slots.
struct Kept {
  SourceRows from;
  SinkRows to;
  float* scales;

  void keep(std::int64_t token, std::int64_t slot, const Attributes& a) const {
    const std::int64_t width = a.kv_heads * a.head_dim;
    if (scales == nullptr) return copy_row(from[token], to[slot], width);
    auto* codes = reinterpret_cast<std::int8_t*>(to.data) + slot * width;
    for (std::int64_t head = 0; head < a.kv_heads; ++head) {
      const Source x = shifted(from[token], head * a.head_dim);
      scales[slot * a.kv_heads + head] = keep_in_s8(x, a.head_dim, codes + head * a.head_dim);
    }
  }
};

/// Rows [begin, end) of the batch.
void append_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const std::int64_t seq = call.in(0).shape[1];
  const std::int64_t slots = call.out(0).shape[1];
  const auto* mask = memory.in<std::uint8_t>(2);
  const auto* lengths = memory.in<std::int32_t>(3);
  const Kept kept[] = {{source_rows(call, memory, 0), sink_rows(call, memory, 0), memory.out<float>(2)},
                       {source_rows(call, memory, 1), sink_rows(call, memory, 1), memory.out<float>(3)}};
  for (std::int64_t batch = begin; batch < end; ++batch) {
    std::int64_t number = lengths[batch];
    for (std::int64_t token = batch * seq; token < (batch + 1) * seq; ++token) {
      if (mask != nullptr && mask[token] == 0) continue;
      const std::int64_t slot = batch * slots + number++ % slots;
      for (const Kept& one : kept) one.keep(token, slot, call.attributes);
    }
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(append_rows);

Offer append_cache_vectors(const Call& call, const MachineFacts& facts) {
  const DType kept = call.out(0).dtype;
  if (!is_vector_float(call.in(0).dtype) || !is_vector_float(call.in(1).dtype)) return Declined{"a dtype is no float"};
  if (kept != DType::s8 && !is_vector_float(kept)) return Declined{"no cache is kept in that dtype"};
  const RowWork work = {call.in(0).shape[0], 2 * call.in(0).shape[1] * call.in(0).width()};
  return moving(call, row_prepared(call, facts, work, [] { return &HWY_DYNAMIC_DISPATCH(append_rows); }));
}

}  // namespace assay::cpu
#endif
