#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax_gradient.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// A gradient may be anything where p is zero: it does not count there.
HWY_INLINE V32 where_seen(V32 p, V32 value) {
  return hn::IfThenElseZero(hn::Ne(p, hn::Zero(f32_lanes)), value);
}

void softmax_gradient_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows dp = source_rows(call, memory, 0);
  const SourceRows p = source_rows(call, memory, 1);
  const SinkRows ds = sink_rows(call, memory, 0);
  const std::int64_t width = call.in(0).width();
  for (std::int64_t row = begin; row < end; ++row) {
    const Source shares = p[row];
    const Source given = dp[row];
    const Sink out = ds[row];
    V32 sum = hn::Zero(f32_lanes);
    for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
      const V32 share = lanes.get(shares, i);
      sum = hn::MulAdd(share, where_seen(share, lanes.get(given, i)), sum);
    });
    const V32 mean = hn::Set(f32_lanes, sum_of(sum));
    for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
      const V32 share = lanes.get(shares, i);
      const V32 slope = hn::Mul(share, hn::Sub(lanes.get(given, i), mean));
      lanes.put(where_seen(share, slope), out, i);
    });
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(softmax_gradient_rows);

Offer softmax_gradient_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(softmax_gradient_rows); });
}

}  // namespace assay::cpu
#endif
