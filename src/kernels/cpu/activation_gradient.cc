#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/activation_gradient.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

void activation_gradient_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows dy = source_rows(call, memory, 0);
  const SourceRows x = source_rows(call, memory, 1);
  const SinkRows dx = sink_rows(call, memory, 0);
  with_slope(call.attributes.activation, [&](auto f) HWY_ATTR {
    for (std::int64_t row = begin; row < end; ++row) {
      for_vectors(call.in(0).width(), [&](auto lanes, std::int64_t i) HWY_ATTR {
        V32 slope = hn::Zero(f32_lanes);
        f(lanes.get(x[row], i), slope);
        lanes.put(hn::Mul(lanes.get(dy[row], i), slope), dx[row], i);
      });
    }
  });
}

void gate_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows x = source_rows(call, memory, 0);
  const SourceRows y = source_rows(call, memory, 1);
  const SinkRows z = sink_rows(call, memory, 0);
  with_activation(call.attributes.activation, [&](auto f) HWY_ATTR {
    for (std::int64_t row = begin; row < end; ++row) {
      for_vectors(call.in(0).width(), [&](auto lanes, std::int64_t i) HWY_ATTR {
        lanes.put(hn::Mul(f(lanes.get(x[row], i)), lanes.get(y[row], i)), z[row], i);
      });
    }
  });
}

void clamped_gate_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows x = source_rows(call, memory, 0);
  const SourceRows y = source_rows(call, memory, 1);
  const SinkRows z = sink_rows(call, memory, 0);
  const V32 one = constant(1.0F);
  const V32 cap = constant(static_cast<float>(call.attributes.cap));
  const V32 scale = constant(static_cast<float>(call.attributes.scale));
  for (std::int64_t row = begin; row < end; ++row) {
    for_vectors(call.in(0).width(), [&](auto lanes, std::int64_t i) HWY_ATTR {
      const V32 h = at_most(cap, lanes.get(x[row], i));
      const V32 u = at_most(cap, at_least(hn::Neg(cap), lanes.get(y[row], i)));
      lanes.put(hn::Mul(hn::Mul(h, sigmoid(hn::Mul(scale, h))), hn::Add(one, u)), z[row], i);
    });
  }
}

/// dx may take dz's place, and an output that nobody wants is absent.
void gate_gradient_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows dz = source_rows(call, memory, 0);
  const SourceRows x = source_rows(call, memory, 1);
  const SourceRows y = source_rows(call, memory, 2);
  const SinkRows dx = sink_rows(call, memory, 0);
  const SinkRows dy = sink_rows(call, memory, 1);
  with_slope(call.attributes.activation, [&](auto f) HWY_ATTR {
    for (std::int64_t row = begin; row < end; ++row) {
      for_vectors(call.in(0).width(), [&](auto lanes, std::int64_t i) HWY_ATTR {
        V32 slope = hn::Zero(f32_lanes);
        const V32 value = f(lanes.get(x[row], i), slope);
        const V32 given = lanes.get(dz[row], i);
        const V32 factor = lanes.get(y[row], i);
        if (dx.data != nullptr) lanes.put(hn::Mul(hn::Mul(given, factor), slope), dx[row], i);
        if (dy.data != nullptr) lanes.put(hn::Mul(given, value), dy[row], i);
      });
    }
  });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(activation_gradient_rows);
HWY_EXPORT(gate_rows);
HWY_EXPORT(clamped_gate_rows);
HWY_EXPORT(gate_gradient_rows);

Offer activation_gradient_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(activation_gradient_rows); });
}

Offer gate_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(gate_rows); });
}

Offer clamped_gate_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(clamped_gate_rows); });
}

Offer gate_gradient_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(gate_gradient_rows); });
}

}  // namespace assay::cpu
#endif
