#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

void add_each(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const auto add = [](auto lanes, std::int64_t i, Source x, Source y, Sink z)
                       HWY_ATTR { lanes.put(hn::Add(lanes.get(x, i), lanes.get(y, i)), z, i); };
  for_row_vectors(begin, end, call.in(0).width(), add, source_rows(call, memory, 0), source_rows(call, memory, 1),
                  sink_rows(call, memory, 0));
}

void multiply_each(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const auto multiply = [](auto lanes, std::int64_t i, Source x, Source y, Sink z)
                            HWY_ATTR { lanes.put(hn::Mul(lanes.get(x, i), lanes.get(y, i)), z, i); };
  for_row_vectors(begin, end, call.in(0).width(), multiply, source_rows(call, memory, 0), source_rows(call, memory, 1),
                  sink_rows(call, memory, 0));
}

void affine_each(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const V32 scale = constant(static_cast<float>(call.attributes.scale));
  const V32 shift = constant(static_cast<float>(call.attributes.shift));
  const auto scale_and_shift = [&](auto lanes, std::int64_t i, Source x, Sink y)
                                   HWY_ATTR { lanes.put(hn::MulAdd(lanes.get(x, i), scale, shift), y, i); };
  for_row_vectors(begin, end, call.in(0).width(), scale_and_shift, source_rows(call, memory, 0),
                  sink_rows(call, memory, 0));
}

void soft_cap_each(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const V32 cap = constant(static_cast<float>(call.attributes.cap));
  const V32 share = constant(static_cast<float>(1 / call.attributes.cap));
  const auto soft_cap = [&](auto lanes, std::int64_t i, Source x, Sink y)
                            HWY_ATTR { lanes.put(hn::Mul(cap, tanh(hn::Mul(lanes.get(x, i), share))), y, i); };
  for_row_vectors(begin, end, call.in(0).width(), soft_cap, source_rows(call, memory, 0), sink_rows(call, memory, 0));
}

void soft_cap_gradient_each(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const V32 share = constant(static_cast<float>(1 / call.attributes.cap));
  const auto gradient = [&](auto lanes, std::int64_t i, Source dy, Source y, Sink dx) HWY_ATTR {
    const V32 t = hn::Mul(lanes.get(y, i), share);
    lanes.put(hn::Mul(lanes.get(dy, i), hn::NegMulAdd(t, t, constant(1.0F))), dx, i);
  };
  for_row_vectors(begin, end, call.in(0).width(), gradient, source_rows(call, memory, 0), source_rows(call, memory, 1),
                  sink_rows(call, memory, 0));
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(add_each);
HWY_EXPORT(multiply_each);
HWY_EXPORT(affine_each);
HWY_EXPORT(soft_cap_each);
HWY_EXPORT(soft_cap_gradient_each);

Offer add_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(add_each); });
}

Offer multiply_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(multiply_each); });
}

Offer affine_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(affine_each); });
}

Offer soft_cap_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(soft_cap_each); });
}

Offer soft_cap_gradient_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(soft_cap_gradient_each); });
}

}  // namespace assay::cpu
#endif
