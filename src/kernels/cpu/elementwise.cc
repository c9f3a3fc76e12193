#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

void add_each(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows x = source_rows(call, memory, 0);
  const SourceRows y = source_rows(call, memory, 1);
  const SinkRows z = sink_rows(call, memory, 0);
  for (std::int64_t row = begin; row < end; ++row) {
    for_vectors(call.in(0).width(), [&](auto lanes, std::int64_t i) HWY_ATTR {
      lanes.put(hn::Add(lanes.get(x[row], i), lanes.get(y[row], i)), z[row], i);
    });
  }
}

void multiply_each(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows x = source_rows(call, memory, 0);
  const SourceRows y = source_rows(call, memory, 1);
  const SinkRows z = sink_rows(call, memory, 0);
  for (std::int64_t row = begin; row < end; ++row) {
    for_vectors(call.in(0).width(), [&](auto lanes, std::int64_t i) HWY_ATTR {
      lanes.put(hn::Mul(lanes.get(x[row], i), lanes.get(y[row], i)), z[row], i);
    });
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(add_each);
HWY_EXPORT(multiply_each);

Offer add_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(add_each); });
}

Offer multiply_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(multiply_each); });
}

}  // namespace assay::cpu
#endif
