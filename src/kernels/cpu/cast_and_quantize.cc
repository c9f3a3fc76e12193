#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/cast_and_quantize.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/copy_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

void cast_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows x = source_rows(call, memory, 0);
  const SinkRows y = sink_rows(call, memory, 0);
  for (std::int64_t row = begin; row < end; ++row) copy_row(x[row], y[row], call.in(0).width());
}

/// Of values within +-127, or NaN, which becomes 0. Adding 1.5 * 2^23 leaves the whole number, rounded to nearest even,
/// in the lowest bits.
HWY_INLINE void narrow_s8(V32 value, std::int8_t* out) {
  const hn::RebindToUnsigned<F32> wide;
  const hn::Rebind<std::uint8_t, F32> byte;
  const auto bits = hn::BitCast(wide, hn::Add(value, hn::Set(f32_lanes, 0x1.8p23F)));
  hn::StoreU(hn::TruncateTo(byte, bits), byte, reinterpret_cast<std::uint8_t*>(out));
}

/// q = round(x * inverse) for one row.
void quantize_row(Source x, std::int64_t width, float inverse, std::int8_t* q) {
  const V32 factor = hn::Set(f32_lanes, inverse);
  const std::int64_t step = lane_count();
  std::int64_t i = 0;
  for (; i + step <= width; i += step) narrow_s8(hn::Mul(load(x, i), factor), q + i);
  if (i == width) return;
  std::int8_t last[HWY_MAX_BYTES];
  narrow_s8(hn::Mul(load_first(x, i, width - i), factor), last);
  std::memcpy(q + i, last, std::min(static_cast<std::size_t>(width - i), sizeof(last)));
}

// As the reference has it: a row of zeros gets scale 1.
void quantize_each_row(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  constexpr float smallest_row = 0x1p-100F;
  const SourceRows x = source_rows(call, memory, 0);
  const std::int64_t width = call.in(0).width();
  auto* scales = memory.out<float>(1);
  for (std::int64_t row = begin; row < end; ++row) {
    V32 most = hn::Zero(f32_lanes);
    for_vectors(width,
                [&](auto lanes, std::int64_t i) HWY_ATTR { most = hn::Max(most, hn::Abs(lanes.get(x[row], i))); });
    const float largest = max_of(most);
    const bool zero = largest < smallest_row;
    quantize_row(x[row], width, zero ? 0.0F : 127.0F / largest,
                 memory.out<std::int8_t>(0) + row * call.out(0).row_stride);
    scales[row] = zero ? 1.0F : largest / 127.0F;
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(cast_rows);
HWY_EXPORT(quantize_each_row);

namespace {

Offer quantize(const Call& call, const MachineFacts& facts) {
  if (!is_vector_float(call.in(0).dtype)) return Declined{"the input is neither f32 nor f16 nor bf16"};
  if (call.out(0).dtype != DType::s8 || call.out(1).dtype != DType::f32)
    return Declined{"the outputs are not s8 and f32"};
  return row_prepared(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(quantize_each_row); });
}

}  // namespace

Offer cast_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_copying(call)) return Declined{why};
  return moving(call,
                row_prepared(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(cast_rows); }));
}

Offer quantize_rows_vectors(const Call& call, const MachineFacts& facts) {
  return quantize(call, facts);
}

Offer quantize_weight_vectors(const Call& call, const MachineFacts& facts) {
  return quantize(call, facts);
}

}  // namespace assay::cpu
#endif
