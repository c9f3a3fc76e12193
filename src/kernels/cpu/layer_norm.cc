#include <cmath>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/layer_norm.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// Normalises `width` floats in `row`, whose sum is known.
void normalize_layer(const float* row, float sum, const Call& call, Source gain, Source bias, Sink out) {
  const std::int64_t width = call.in(0).width();
  const V32 mean = hn::Set(f32_lanes, sum / static_cast<float>(width));
  V32 squares = hn::Zero(f32_lanes);
  for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const V32 distance = lanes.zero_beyond(hn::Sub(lanes.get(source_of(row), i), mean));
    squares = hn::MulAdd(distance, distance, squares);
  });
  const float variance = sum_of(squares) / static_cast<float>(width);
  const V32 inverse = hn::Set(f32_lanes, 1.0F / std::sqrt(variance + static_cast<float>(call.attributes.epsilon)));
  for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const V32 normal = hn::Mul(hn::Sub(lanes.get(source_of(row), i), mean), inverse);
    const V32 scaled = gain.data == nullptr ? normal : hn::Mul(normal, lanes.get(gain, i));
    lanes.put(bias.data == nullptr ? scaled : hn::Add(scaled, lanes.get(bias, i)), out, i);
  });
}

void layer_norm_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* scratch) {
  const SourceRows x = source_rows(call, memory, 0);
  const SinkRows y = sink_rows(call, memory, 0);
  const Source gain = source_rows(call, memory, 1)[0];
  const Source bias = source_rows(call, memory, 2)[0];
  for (std::int64_t row = begin; row < end; ++row) {
    const Source from = x[row];
    V32 sum = hn::Zero(f32_lanes);
    for_vectors(call.in(0).width(), [&](auto lanes, std::int64_t i) HWY_ATTR {
      const V32 value = lanes.get(from, i);
      sum = hn::Add(sum, value);
      lanes.put(value, sink_of(scratch), i);
    });
    normalize_layer(scratch, sum_of(sum), call, gain, bias, y[row]);
  }
}

void add_layer_norm_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* scratch) {
  const SourceRows x = source_rows(call, memory, 0);
  const SourceRows y = source_rows(call, memory, 1);
  const SinkRows total = sink_rows(call, memory, 0);
  const SinkRows normal = sink_rows(call, memory, 1);
  const Source gain = source_rows(call, memory, 2)[0];
  const Source bias = source_rows(call, memory, 3)[0];
  for (std::int64_t row = begin; row < end; ++row) {
    const Source a = x[row];
    const Source b = y[row];
    const Sink both = total[row];
    V32 sum = hn::Zero(f32_lanes);
    for_vectors(call.in(0).width(), [&](auto lanes, std::int64_t i) HWY_ATTR {
      const V32 value = hn::Add(lanes.get(a, i), lanes.get(b, i));
      sum = hn::Add(sum, value);
      lanes.put(value, sink_of(scratch), i);
      if (both.data != nullptr) lanes.put(value, both, i);
    });
    if (normal.data != nullptr) normalize_layer(scratch, sum_of(sum), call, gain, bias, normal[row]);
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(layer_norm_rows);
HWY_EXPORT(add_layer_norm_rows);

Offer layer_norm_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, with_scratch_row(call), [] { return &HWY_DYNAMIC_DISPATCH(layer_norm_rows); });
}

Offer add_layer_norm_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, with_scratch_row(call), [] { return &HWY_DYNAMIC_DISPATCH(add_layer_norm_rows); });
}

}  // namespace assay::cpu
#endif
