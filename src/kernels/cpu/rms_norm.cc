#include <cmath>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rms_norm.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// One row in f32, and the sum of its squares. Handed on by value, as for_vectors says.
struct SquaredRow {
  const float* values;
  std::int64_t width;
  float squares;
};

void normalize_root_mean_square(SquaredRow row, const Call& call, Source gain, Sink out) {
  const float mean = row.squares / static_cast<float>(row.width);
  const V32 inverse = hn::Set(f32_lanes, 1.0F / std::sqrt(mean + static_cast<float>(call.attributes.epsilon)));
  for_vectors(row.width, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const V32 normal = hn::Mul(lanes.get(source_of(row.values), i), inverse);
    lanes.put(gain.data == nullptr ? normal : hn::Mul(normal, lanes.get(gain, i)), out, i);
  });
}

void rms_norm_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* scratch) {
  const NormRows norm = norm_rows(call.in(0), call.in(1));
  const SourceRows x = by_group(source_rows(call, memory, 0), norm);
  const SinkRows y = by_group(sink_rows(call, memory, 0), norm);
  const Source gain = source_rows(call, memory, 1)[0];
  for (std::int64_t row = begin; row < end; ++row) {
    const Source from = x[row];
    V32 squares = hn::Zero(f32_lanes);
    for_vectors(norm.width, [&](auto lanes, std::int64_t i) HWY_ATTR {
      const V32 value = lanes.get(from, i);
      squares = hn::MulAdd(value, value, squares);
      lanes.put(value, sink_of(scratch), i);
    });
    normalize_root_mean_square({scratch, norm.width, sum_of(squares)}, call, gain, y[row]);
  }
}

void add_rms_norm_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* scratch) {
  const SourceRows x = source_rows(call, memory, 0);
  const SourceRows y = source_rows(call, memory, 1);
  const SinkRows total = sink_rows(call, memory, 0);
  const SinkRows normal = sink_rows(call, memory, 1);
  const Source gain = source_rows(call, memory, 2)[0];
  for (std::int64_t row = begin; row < end; ++row) {
    const Source a = x[row];
    const Source b = y[row];
    const Sink both = total[row];
    V32 squares = hn::Zero(f32_lanes);
    for_vectors(call.in(0).width(), [&](auto lanes, std::int64_t i) HWY_ATTR {
      const V32 value = hn::Add(lanes.get(a, i), lanes.get(b, i));
      squares = hn::MulAdd(value, value, squares);
      lanes.put(value, sink_of(scratch), i);
      if (both.data != nullptr) lanes.put(value, both, i);
    });
    const SquaredRow squared{scratch, call.in(0).width(), sum_of(squares)};
    if (normal.data != nullptr) normalize_root_mean_square(squared, call, gain, normal[row]);
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(rms_norm_rows);
HWY_EXPORT(add_rms_norm_rows);

Offer rms_norm_vectors(const Call& call, const MachineFacts& facts) {
  const NormRows norm = norm_rows(call.in(0), call.in(1));
  const RowWork work{norm.rows, norm.width, whole_lines(norm.width)};
  return row_offer(call, facts, work, [] { return &HWY_DYNAMIC_DISPATCH(rms_norm_rows); });
}

Offer add_rms_norm_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, with_scratch_row(call), [] { return &HWY_DYNAMIC_DISPATCH(add_rms_norm_rows); });
}

}  // namespace assay::cpu
#endif
