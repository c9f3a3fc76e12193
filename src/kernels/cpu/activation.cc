#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/activation.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

void activation_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows x = source_rows(call, memory, 0);
  const SinkRows y = sink_rows(call, memory, 0);
  const std::int64_t width = call.in(0).width();
  with_activation(call.attributes.activation, [&](auto f) HWY_ATTR {
    for (std::int64_t row = begin; row < end; ++row) {
      for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR { lanes.put(f(lanes.get(x[row], i)), y[row], i); });
    }
  });
}

void gated_activation_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows x = source_rows(call, memory, 0);
  const SinkRows y = sink_rows(call, memory, 0);
  const std::int64_t width = call.in(0).width() / 2;
  with_activation(call.attributes.activation, [&](auto f) HWY_ATTR {
    for (std::int64_t row = begin; row < end; ++row) {
      for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
        const V32 gate = f(lanes.get(x[row], i));
        lanes.put(hn::Mul(gate, lanes.get(x[row], width + i)), y[row], i);
      });
    }
  });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(activation_rows);
HWY_EXPORT(gated_activation_rows);

Offer activation_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(activation_rows); });
}

Offer gated_activation_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(gated_activation_rows); });
}

}  // namespace assay::cpu
#endif
