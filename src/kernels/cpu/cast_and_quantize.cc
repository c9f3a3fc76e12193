#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/cast_and_quantize.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/copy_row-inl.h"
#include "kernels/quantize.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

void cast_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows x = source_rows(call, memory, 0);
  const SinkRows y = sink_rows(call, memory, 0);
  for (std::int64_t row = begin; row < end; ++row) copy_row(x[row], y[row], call.in(0).width());
}

/// Of values within +-448, or NaN. The upper bits of f32 are those of e4m3 with another bias; below 2^-6, where e4m3
/// counts in steps of 2^-9, so does f32 from 2^14 on.
HWY_INLINE W32 bits_as_e4m3(V32 value) {
  const V32 size = hn::Abs(value);
  const W32 bits = hn::BitCast(u32_lanes, size);
  const W32 odd = hn::And(hn::ShiftRight<20>(bits), hn::Set(u32_lanes, 1));
  const W32 rounded = hn::ShiftRight<20>(hn::Add(hn::Add(bits, odd), hn::Set(u32_lanes, 0x7ffff)));
  const W32 normal = hn::Sub(rounded, hn::Set(u32_lanes, (127 - 7) << 3));
  const V32 from = hn::Set(f32_lanes, 0x1p14F);
  const W32 steps = hn::Sub(hn::BitCast(u32_lanes, hn::Add(size, from)), hn::BitCast(u32_lanes, from));
  const auto is_small = hn::RebindMask(u32_lanes, hn::Lt(size, hn::Set(f32_lanes, 0x1p-6F)));
  const auto is_number = hn::RebindMask(u32_lanes, hn::Eq(value, value));
  const W32 finite = hn::IfThenElse(is_small, steps, normal);
  const W32 sign = hn::And(hn::ShiftRight<24>(hn::BitCast(u32_lanes, value)), hn::Set(u32_lanes, 0x80));
  return hn::Or(hn::IfThenElse(is_number, finite, hn::Set(u32_lanes, 0x7f)), sign);
}

HWY_INLINE void narrow(V32 value, DType dtype, std::byte* out) {
  const hn::Rebind<std::uint8_t, F32> byte;
  const W32 bits = dtype == DType::e4m3 ? bits_as_e4m3(value) : bits_as_s8(value);
  hn::StoreU(hn::TruncateTo(byte, bits), byte, reinterpret_cast<std::uint8_t*>(out));
}

/// q = round(x * inverse) for one row.
void quantize_row(Source x, std::int64_t width, float inverse, Sink q) {
  const V32 factor = hn::Set(f32_lanes, inverse);
  const std::int64_t step = lane_count();
  std::int64_t i = 0;
  for (; i + step <= width; i += step) narrow(hn::Mul(load(x, i), factor), q.dtype, q.data + i);
  if (i == width) return;
  std::byte last[HWY_MAX_BYTES];
  narrow(hn::Mul(load_first(x, i, width - i), factor), q.dtype, last);
  std::memcpy(q.data + i, last, std::min(static_cast<std::size_t>(width - i), sizeof(last)));
}

/// The scale of `width` neighbours, which are quantised. As kernels/quantize.h says. Zero times NaN or infinity is NaN,
/// and a sum keeps it.
HWY_INLINE float quantize_stretch(Source x, std::int64_t width, Sink q) {
  V32 most = hn::Zero(f32_lanes);
  V32 poison = hn::Zero(f32_lanes);
  for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const V32 value = lanes.get(x, i);
    // The order of operands is the one in which x86 lets a NaN pass and keeps what was found before it.
    most = hn::Max(hn::Abs(value), most);
    poison = hn::MulAdd(value, hn::Zero(f32_lanes), poison);
  });
  const float limit = quantized_limit(q.dtype);
  const float largest = max_of(most);
  const bool zero = largest < smallest_row;
  quantize_row(x, width, zero ? 0.0F : limit / largest, q);
  return (zero ? 1.0F : largest / limit) + sum_of(poison);
}

void quantize_each_row(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows x = source_rows(call, memory, 0);
  const SinkRows q = sink_rows(call, memory, 0);
  auto* scales = memory.out<float>(1);
  for (std::int64_t row = begin; row < end; ++row) scales[row] = quantize_stretch(x[row], call.in(0).width(), q[row]);
}

void quantize_each_group(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows x = source_rows(call, memory, 0);
  const SinkRows q = sink_rows(call, memory, 0);
  const std::int64_t width = call.in(0).width();
  float* scale = memory.out<float>(1) + begin * activation_groups(width);
  for (std::int64_t row = begin; row < end; ++row) {
    for (std::int64_t i = 0; i < width; i += activation_group)
      *scale++ = quantize_stretch(shifted(x[row], i), std::min(activation_group, width - i), shifted(q[row], i));
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(cast_rows);
HWY_EXPORT(quantize_each_row);
HWY_EXPORT(quantize_each_group);

namespace {

template <typename Choose>
Offer quantize(const Call& call, const MachineFacts& facts, Choose choose) {
  if (!is_vector_float(call.in(0).dtype)) return Declined{"the input is neither f32 nor f16 nor bf16"};
  const DType q = call.out(0).dtype;
  if ((q != DType::s8 && q != DType::e4m3) || call.out(1).dtype != DType::f32)
    return Declined{"the outputs are not s8 or e4m3, and f32"};
  return row_prepared(call, facts, first_input_rows(call), choose);
}

}  // namespace

Offer cast_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_copying(call)) return Declined{why};
  return moving(call,
                row_prepared(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(cast_rows); }));
}

Offer quantize_rows_vectors(const Call& call, const MachineFacts& facts) {
  return quantize(call, facts, [] { return &HWY_DYNAMIC_DISPATCH(quantize_each_row); });
}

Offer quantize_weight_vectors(const Call& call, const MachineFacts& facts) {
  return quantize_rows_vectors(call, facts);
}

Offer quantize_groups_vectors(const Call& call, const MachineFacts& facts) {
  return quantize(call, facts, [] { return &HWY_DYNAMIC_DISPATCH(quantize_each_group); });
}

}  // namespace assay::cpu
#endif
