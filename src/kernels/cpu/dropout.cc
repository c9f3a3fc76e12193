#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dropout.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// uniform(bits) of base/random.h.
HWY_INLINE V32 uniform_of(W32 bits) {
  const V32 whole = hn::ConvertTo(f32_lanes, hn::BitCast(s32_lanes, hn::ShiftRight<9>(bits)));
  return hn::Mul(hn::Add(whole, hn::Set(f32_lanes, 0.5F)), hn::Set(f32_lanes, 0x1p-23F));
}

void dropout_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows x = source_rows(call, memory, 0);
  const SinkRows y = sink_rows(call, memory, 0);
  const RandomStream random = random_stream(memory.in<std::int32_t>(1), call.attributes.stream);
  const std::int64_t width = call.in(0).width();
  const std::int64_t before = *memory.in<std::int32_t>(2) * call.in(0).rows_each();
  const V32 rate = hn::Set(f32_lanes, static_cast<float>(call.attributes.rate));
  const V32 scale = hn::Set(f32_lanes, static_cast<float>(1 / (1 - call.attributes.rate)));
  RandomBits drawn;
  for (std::int64_t row = begin; row < end; ++row) {
    const Source from = x[row];
    const Sink to = y[row];
    for (std::int64_t first = 0; first < width; first += chunk_elements) {
      const std::int64_t count = std::min(width - first, chunk_elements);
      const std::int64_t skipped = draw(random, (before + row) * width + first, count, drawn);
      for_vectors(count, [&](auto lanes, std::int64_t i) HWY_ATTR {
        const auto kept = hn::Ge(uniform_of(drawn.at(skipped + i)), rate);
        const V32 value = hn::Mul(lanes.get(from, first + i), scale);
        lanes.put(hn::IfThenElseZero(kept, value), to, first + i);
      });
    }
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(dropout_rows);

Offer dropout_vectors(const Call& call, const MachineFacts& facts) {
  if (call.in(1).dtype != DType::s32 || call.in(2).dtype != DType::s32)
    return Declined{"the seed or the first row is not s32"};
  return row_offer(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(dropout_rows); });
}

}  // namespace assay::cpu
#endif
