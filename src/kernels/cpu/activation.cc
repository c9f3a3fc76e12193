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
  with_activation(call.attributes.activation, [&](auto f) HWY_ATTR {
    const auto activate = [&](auto lanes, std::int64_t i, Source x, Sink y)
                              HWY_ATTR { lanes.put(f(lanes.get(x, i)), y, i); };
    for_row_vectors(begin, end, call.in(0).width(), activate, source_rows(call, memory, 0), sink_rows(call, memory, 0));
  });
}

void gated_activation_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const std::int64_t width = call.in(0).width() / 2;
  with_activation(call.attributes.activation, [&](auto f) HWY_ATTR {
    const auto gate = [&](auto lanes, std::int64_t i, Source x, Sink y)
                          HWY_ATTR { lanes.put(hn::Mul(f(lanes.get(x, i)), lanes.get(x, width + i)), y, i); };
    for_row_vectors(begin, end, width, gate, source_rows(call, memory, 0), sink_rows(call, memory, 0));
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
