#include <cmath>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/norm_gradient.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// One row of a call, and where its part sums the parameters' gradients (f32, width each) and keeps h, rounded once: a
/// row of one element has h - mean(h) = 0. Handed on by value, as for_vectors says.
struct NormRow {
  Source dy;
  Source x;
  Source gain;
  Source onto;
  Sink dx;
  float* gain_sums;
  float* bias_sums;
  float* h;
};

/// With n = (x - centre) * inverse and h = dy * gain: the means over the row of h and of h n.
struct NormStatistics {
  float centre = 0;
  float inverse = 1;
  float mean_h = 0;
  float mean_hn = 0;
};

float mean_of(Source x, std::int64_t width) {
  V32 sum = hn::Zero(f32_lanes);
  for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR { sum = hn::Add(sum, lanes.get(x, i)); });
  return sum_of(sum) / static_cast<float>(width);
}

NormStatistics norm_statistics(const Call& call, NormRow row) {
  const std::int64_t width = call.in(2).width();
  const auto count = static_cast<float>(width);
  const bool centred = call.operation == &op::layer_norm_gradient;
  NormStatistics found;
  if (centred) found.centre = mean_of(row.x, width);
  const V32 centre = hn::Set(f32_lanes, found.centre);
  V32 squares = hn::Zero(f32_lanes);
  V32 sum_h = hn::Zero(f32_lanes);
  V32 sum_hd = hn::Zero(f32_lanes);
  for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const V32 distance = lanes.zero_beyond(hn::Sub(lanes.get(row.x, i), centre));
    const V32 h = hn::Mul(lanes.get(row.dy, i), lanes.get(row.gain, i));
    squares = hn::MulAdd(distance, distance, squares);
    lanes.put(h, sink_of(row.h), i);
    sum_h = hn::Add(sum_h, h);
    sum_hd = hn::MulAdd(h, distance, sum_hd);
  });
  found.inverse = 1.0F / std::sqrt(sum_of(squares) / count + static_cast<float>(call.attributes.epsilon));
  found.mean_h = centred ? sum_of(sum_h) / count : 0.0F;
  found.mean_hn = sum_of(sum_hd) * found.inverse / count;
  return found;
}

void norm_gradient_row(NormRow row, const NormStatistics& s, std::int64_t width) {
  const V32 centre = hn::Set(f32_lanes, s.centre);
  const V32 inverse = hn::Set(f32_lanes, s.inverse);
  const V32 mean_h = hn::Set(f32_lanes, s.mean_h);
  const V32 mean_hn = hn::Set(f32_lanes, s.mean_hn);
  for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const V32 normal = hn::Mul(hn::Sub(lanes.get(row.x, i), centre), inverse);
    const V32 dy = lanes.get(row.dy, i);
    lanes.put(hn::MulAdd(dy, normal, lanes.get(source_of(row.gain_sums), i)), sink_of(row.gain_sums), i);
    lanes.put(hn::Add(dy, lanes.get(source_of(row.bias_sums), i)), sink_of(row.bias_sums), i);
    if (row.dx.data == nullptr) return;
    const V32 inner = hn::NegMulAdd(normal, mean_hn, hn::Sub(lanes.get(source_of(row.h), i), mean_h));
    const V32 dx =
        row.onto.data == nullptr ? hn::Mul(inner, inverse) : hn::MulAdd(inner, inverse, lanes.get(row.onto, i));
    lanes.put(dx, row.dx, i);
  });
}

void norm_gradient_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* sums) {
  const NormRows norm = norm_rows(call.in(1), call.in(2));
  const SourceRows dy = by_group(source_rows(call, memory, 0), norm);
  const SourceRows x = by_group(source_rows(call, memory, 1), norm);
  const Source gain = source_rows(call, memory, 2)[0];
  const SourceRows onto = by_group(source_rows(call, memory, 3), norm);
  const SinkRows dx = by_group(sink_rows(call, memory, 0), norm);
  const std::int64_t width = norm.width;
  const std::int64_t line = whole_lines(width);
  for (std::int64_t row = begin; row < end; ++row) {
    const NormRow one = {dy[row], x[row], gain, onto[row], dx[row], sums, sums + line, sums + 2 * line};
    norm_gradient_row(one, norm_statistics(call, one), width);
  }
}

/// `parts` times `stride` floats become one row of `width`.
void add_parts(const float* sums, std::int64_t parts, std::int64_t stride, Sink out, std::int64_t width) {
  if (out.data == nullptr) return;
  for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
    V32 sum = hn::Zero(f32_lanes);
    for (std::int64_t part = 0; part < parts; ++part) sum = hn::Add(sum, lanes.get(source_of(sums + part * stride), i));
    lanes.put(sum, out, i);
  });
}

void norm_parameter_gradients(const Call& call, const Memory& memory, std::int64_t, std::int64_t parts, float* sums) {
  const std::int64_t width = call.in(2).width();
  const std::int64_t line = whole_lines(width);
  add_parts(sums, parts, 3 * line, sink_rows(call, memory, 1)[0], width);
  add_parts(sums + line, parts, 3 * line, sink_rows(call, memory, 2)[0], width);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(norm_gradient_rows);
HWY_EXPORT(norm_parameter_gradients);

namespace {

Offer norm_gradient_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_vectors(call)) return Declined{why};
  const NormRows norm = norm_rows(call.in(1), call.in(2));
  const RowWork work{norm.rows, norm.width, 3 * whole_lines(norm.width)};
  return summing_prepared(call, facts, work, [] {
    return SummingKernel{HWY_DYNAMIC_DISPATCH(norm_gradient_rows), HWY_DYNAMIC_DISPATCH(norm_parameter_gradients)};
  });
}

}  // namespace

Offer layer_norm_gradient_vectors(const Call& call, const MachineFacts& facts) {
  return norm_gradient_vectors(call, facts);
}

Offer rms_norm_gradient_vectors(const Call& call, const MachineFacts& facts) {
  return norm_gradient_vectors(call, facts);
}

}  // namespace assay::cpu
#endif
