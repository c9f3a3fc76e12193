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
  with_slope(call.attributes.activation, [&](auto f) HWY_ATTR {
    const auto gradient = [&](auto lanes, std::int64_t i, Source dy, Source x, Sink dx) HWY_ATTR {
      V32 slope = hn::Zero(f32_lanes);
      f(lanes.get(x, i), slope);
      lanes.put(hn::Mul(lanes.get(dy, i), slope), dx, i);
    };
    for_row_vectors(begin, end, call.in(0).width(), gradient, source_rows(call, memory, 0),
                    source_rows(call, memory, 1), sink_rows(call, memory, 0));
  });
}

void gate_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  with_activation(call.attributes.activation, [&](auto f) HWY_ATTR {
    const auto gate = [&](auto lanes, std::int64_t i, Source x, Source y, Sink z)
                          HWY_ATTR { lanes.put(hn::Mul(f(lanes.get(x, i)), lanes.get(y, i)), z, i); };
    for_row_vectors(begin, end, call.in(0).width(), gate, source_rows(call, memory, 0), source_rows(call, memory, 1),
                    sink_rows(call, memory, 0));
  });
}

void clamped_gate_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const V32 one = constant(1.0F);
  const V32 cap = constant(static_cast<float>(call.attributes.cap));
  const V32 scale = constant(static_cast<float>(call.attributes.scale));
  const auto gate = [&](auto lanes, std::int64_t i, Source x, Source y, Sink z) HWY_ATTR {
    const V32 h = at_most(cap, lanes.get(x, i));
    const V32 u = at_most(cap, at_least(hn::Neg(cap), lanes.get(y, i)));
    lanes.put(hn::Mul(hn::Mul(h, sigmoid(hn::Mul(scale, h))), hn::Add(one, u)), z, i);
  };
  for_row_vectors(begin, end, call.in(0).width(), gate, source_rows(call, memory, 0), source_rows(call, memory, 1),
                  sink_rows(call, memory, 0));
}

/// dx may take dz's place, and an output that nobody wants is absent.
void gate_gradient_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  with_slope(call.attributes.activation, [&](auto f) HWY_ATTR {
    const auto gradient = [&](auto lanes, std::int64_t i, Source dz, Source x, Source y, Sink dx, Sink dy) HWY_ATTR {
      V32 slope = hn::Zero(f32_lanes);
      const V32 value = f(lanes.get(x, i), slope);
      const V32 given = lanes.get(dz, i);
      const V32 factor = lanes.get(y, i);
      if (dx.data != nullptr) lanes.put(hn::Mul(hn::Mul(given, factor), slope), dx, i);
      if (dy.data != nullptr) lanes.put(hn::Mul(given, value), dy, i);
    };
    for_row_vectors(begin, end, call.in(0).width(), gradient, source_rows(call, memory, 0),
                    source_rows(call, memory, 1), source_rows(call, memory, 2), sink_rows(call, memory, 0),
                    sink_rows(call, memory, 1));
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
