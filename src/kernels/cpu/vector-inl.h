// Included once for each instruction set, by each file that Highway compiles for several.
#if defined(ASSAY_KERNELS_CPU_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_CPU_VECTOR_INL_H_
#undef ASSAY_KERNELS_CPU_VECTOR_INL_H_
#else
#define ASSAY_KERNELS_CPU_VECTOR_INL_H_
#endif

#include <hwy/highway.h>

#include <cstring>
#include <optional>

#include "kernels/cpu/rows.h"
#include "tensor/small_float.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;
constexpr F32 f32_lanes;
using S32 = hn::RebindToSigned<F32>;
constexpr S32 s32_lanes;

HWY_INLINE std::int64_t lane_count() {
  return static_cast<std::int64_t>(hn::Lanes(f32_lanes));
}

// ---- f32 lanes from and to stored dtypes. Rounding is to nearest even; the bf16 instruction would flush subnormals.

HWY_INLINE V32 widen_bf16(const std::byte* data) {
  const hn::Rebind<std::uint16_t, F32> half;
  const hn::RebindToUnsigned<F32> wide;
  const auto bits = hn::PromoteTo(wide, hn::LoadU(half, reinterpret_cast<const std::uint16_t*>(data)));
  return hn::BitCast(f32_lanes, hn::ShiftLeft<16>(bits));
}

#if HWY_TARGET >= HWY_SSE4  // Without F16C Highway cuts off where it should round, and loses infinities and NaN.
HWY_INLINE V32 widen_f16(const std::byte* data) {
  float values[hn::MaxLanes(f32_lanes)];
  for (std::size_t i = 0; i < hn::Lanes(f32_lanes); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, data + 2 * i, sizeof(bits));
    values[i] = decode(bits, f16_format);
  }
  return hn::LoadU(f32_lanes, values);
}
#else
HWY_INLINE V32 widen_f16(const std::byte* data) {
  const hn::Rebind<hwy::float16_t, F32> half;
  return hn::PromoteTo(f32_lanes, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(data)));
}
#endif

HWY_INLINE V32 widen_s8(const std::byte* data) {
  const hn::Rebind<std::int8_t, F32> byte;
  return hn::ConvertTo(f32_lanes,
                       hn::PromoteTo(s32_lanes, hn::LoadU(byte, reinterpret_cast<const std::int8_t*>(data))));
}

HWY_INLINE V32 widen_e4m3(const std::byte* data) {
  const hn::Rebind<std::uint8_t, F32> byte;
  const auto bits = hn::PromoteTo(s32_lanes, hn::LoadU(byte, reinterpret_cast<const std::uint8_t*>(data)));
  return hn::GatherIndex(f32_lanes, e4m3_values.data(), bits);
}

using U32 = hn::RebindToUnsigned<F32>;
using W32 = hn::Vec<U32>;
constexpr U32 u32_lanes;

/// Rounded to bf16 in the upper halves; not for NaN.
HWY_INLINE W32 rounded_to_bf16(V32 value) {
  const W32 bits = hn::BitCast(u32_lanes, value);
  const W32 odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u32_lanes, 1));
  return hn::Add(hn::Add(bits, hn::Set(u32_lanes, 0x7fff)), odd);
}

HWY_INLINE auto upper_halves(W32 bits) {
  const hn::Rebind<std::uint16_t, F32> half;
  return hn::TruncateTo(half, hn::ShiftRight<16>(bits));
}

HWY_INLINE void store_upper_halves(W32 bits, std::byte* data) {
  const hn::Rebind<std::uint16_t, F32> half;
  hn::StoreU(upper_halves(bits), half, reinterpret_cast<std::uint16_t*>(data));
}

/// The same of any value; a NaN stays one.
HWY_INLINE W32 upper_bf16(V32 value) {
  const W32 quiet = hn::Or(hn::BitCast(u32_lanes, value), hn::Set(u32_lanes, 0x400000));
  const auto is_number = hn::RebindMask(u32_lanes, hn::Eq(value, value));
  return hn::IfThenElse(is_number, rounded_to_bf16(value), quiet);
}

HWY_INLINE void narrow_bf16(V32 value, std::byte* data) {
  store_upper_halves(upper_bf16(value), data);
}

#if HWY_TARGET >= HWY_SSE4  // As in widen_f16.
HWY_INLINE void narrow_f16(V32 value, std::byte* data) {
  float values[hn::MaxLanes(f32_lanes)];
  hn::StoreU(value, f32_lanes, values);
  for (std::size_t i = 0; i < hn::Lanes(f32_lanes); ++i) {
    const auto bits = static_cast<std::uint16_t>(encode(values[i], f16_format));
    std::memcpy(data + 2 * i, &bits, sizeof(bits));
  }
}
#else
HWY_INLINE void narrow_f16(V32 value, std::byte* data) {
  const hn::Rebind<hwy::float16_t, F32> half;
  hn::StoreU(hn::DemoteTo(half, value), half, reinterpret_cast<hwy::float16_t*>(data));
}
#endif

/// Of values within +-127, or NaN, which becomes 0. Adding 1.5 * 2^23 leaves the whole number, rounded to nearest even,
/// in the lowest bits.
HWY_INLINE W32 bits_as_s8(V32 value) {
  return hn::BitCast(u32_lanes, hn::Add(value, hn::Set(f32_lanes, 0x1.8p23F)));
}

HWY_INLINE void narrow_s8(V32 value, std::byte* data) {
  const hn::Rebind<std::uint8_t, F32> byte;
  const V32 limit = hn::Set(f32_lanes, 127.0F);
  const W32 bits = bits_as_s8(hn::Max(hn::Min(value, limit), hn::Neg(limit)));
  hn::StoreU(hn::TruncateTo(byte, bits), byte, reinterpret_cast<std::uint8_t*>(data));
}

HWY_INLINE std::int64_t bytes_of(DType dtype) {
  return dtype == DType::f32 ? 4 : dtype == DType::s8 || dtype == DType::e4m3 ? 1 : 2;
}

/// A vector of elements i, i + 1, ...
HWY_INLINE V32 load(Source source, std::int64_t i) {
  const std::byte* data = source.data + i * bytes_of(source.dtype);
  if (source.dtype == DType::f32) return hn::LoadU(f32_lanes, reinterpret_cast<const float*>(data));
  if (source.dtype == DType::bf16) return widen_bf16(data);
  if (source.dtype == DType::f16) return widen_f16(data);
  if (source.dtype == DType::e4m3) return widen_e4m3(data);
  return widen_s8(data);
}

HWY_INLINE void store(V32 value, Sink sink, std::int64_t i) {
  std::byte* data = sink.data + i * bytes_of(sink.dtype);
  if (sink.dtype == DType::f32) return hn::StoreU(value, f32_lanes, reinterpret_cast<float*>(data));
  if (sink.dtype == DType::bf16) return narrow_bf16(value, data);
  if (sink.dtype == DType::s8) return narrow_s8(hn::Mul(value, hn::Set(f32_lanes, sink.factor)), data);
  narrow_f16(value, data);
}

/// The first `count` lanes only; the others are zero. Reads nothing behind them.
HWY_INLINE V32 load_first(Source source, std::int64_t i, std::int64_t count) {
  alignas(64) std::byte lanes[HWY_MAX_BYTES] = {};
  const std::int64_t bytes = bytes_of(source.dtype);
  std::memcpy(lanes, source.data + i * bytes, std::min(static_cast<std::size_t>(count * bytes), sizeof(lanes)));
  return load({lanes, source.dtype}, 0);
}

HWY_INLINE void store_first(V32 value, Sink sink, std::int64_t i, std::int64_t count) {
  alignas(64) std::byte lanes[HWY_MAX_BYTES];
  const std::int64_t bytes = bytes_of(sink.dtype);
  store(value, {lanes, sink.dtype, sink.factor}, 0);
  std::memcpy(sink.data + i * bytes, lanes, std::min(static_cast<std::size_t>(count * bytes), sizeof(lanes)));
}

/// Loads and stores of whole vectors, and of the part of one at a row's end.
struct Whole {
  HWY_INLINE V32 get(Source source, std::int64_t i) const { return load(source, i); }
  HWY_INLINE void put(V32 value, Sink sink, std::int64_t i) const { store(value, sink, i); }
  HWY_INLINE V32 zero_beyond(V32 value) const { return value; }
  HWY_INLINE V32 beyond(V32, V32 value) const { return value; }
};
struct Part {
  std::int64_t count;
  HWY_INLINE V32 get(Source source, std::int64_t i) const { return load_first(source, i, count); }
  HWY_INLINE void put(V32 value, Sink sink, std::int64_t i) const { store_first(value, sink, i, count); }
  /// Lanes past the row's end must not reach a sum.
  HWY_INLINE V32 zero_beyond(V32 value) const {
    return hn::IfThenElseZero(hn::FirstN(f32_lanes, static_cast<std::size_t>(count)), value);
  }
  /// `other` past the row's end: what a maximum so far keeps there.
  HWY_INLINE V32 beyond(V32 other, V32 value) const {
    return hn::IfThenElse(hn::FirstN(f32_lanes, static_cast<std::size_t>(count)), value, other);
  }
};

/// Stores of whole aligned vectors past the caches, of f32 and bf16.
struct Streamed {
  HWY_INLINE void put(V32 value, Sink sink, std::int64_t i) const {
    std::byte* const data = sink.data + i * bytes_of(sink.dtype);
    if (sink.dtype == DType::f32) return hn::Stream(value, f32_lanes, reinterpret_cast<float*>(data));
    const hn::Rebind<std::uint16_t, F32> half;
    hn::Stream(upper_halves(upper_bf16(value)), half, reinterpret_cast<std::uint16_t*>(data));
  }
};

/// body(lanes, i) for each vector of `width` elements: lanes is Whole, and Part for the rest. What the body reads
/// should be local values: after a store of bytes, which may change anything else, it would be read again for each
/// vector.
template <typename Body>
HWY_INLINE void for_vectors(std::int64_t width, Body&& body) {
  const std::int64_t step = lane_count();
  std::int64_t i = 0;
  for (; i + step <= width; i += step) body(Whole{}, i);
  if (i < width) body(Part{width - i}, i);
}

/// Lanes of rows that are all of one dtype: no load and no store asks for it.
template <DType dtype, typename Lanes>
struct AllOf : Lanes {
  HWY_INLINE V32 get(Source source, std::int64_t i) const { return Lanes::get({source.data, dtype}, i); }
  HWY_INLINE void put(V32 value, Sink sink, std::int64_t i) const {
    Lanes::put(value, {sink.data, dtype, sink.factor}, i);
  }
};

/// use(typed): typed(lanes) are lanes for rows of that dtype, if it is one for which code is made; else they ask.
template <typename Use>
HWY_INLINE void with_dtype(std::optional<DType> dtype, Use&& use) {
  if (dtype == DType::f32) return use([](auto lanes) { return AllOf<DType::f32, decltype(lanes)>{lanes}; });
  if (dtype == DType::bf16) return use([](auto lanes) { return AllOf<DType::bf16, decltype(lanes)>{lanes}; });
  use([](auto lanes) { return lanes; });
}

/// body(lanes, i, source or sink of the row in each of `rows`...) for each vector of each of the rows [begin, end),
/// `width` elements each. Where a row lies and of which dtype it is, is asked before its vectors.
template <typename Body, typename... Rows>
HWY_INLINE void for_row_vectors(std::int64_t begin, std::int64_t end, std::int64_t width, Body&& body,
                                const Rows&... rows) {
  with_dtype(common_dtype(rows...), [&](auto typed) HWY_ATTR {
    const auto run = [&](auto... row) HWY_ATTR {
      for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR { body(typed(lanes), i, row...); });
    };
    for (std::int64_t row = begin; row < end; ++row) run(rows[row]...);
  });
}

HWY_INLINE Source source_of(const float* data) {
  return {reinterpret_cast<const std::byte*>(data), DType::f32};
}
HWY_INLINE Sink sink_of(float* data) {
  return {reinterpret_cast<std::byte*>(data), DType::f32};
}

HWY_INLINE float element_of(Source source, std::int64_t i) {
  return hn::GetLane(load_first(source, i, 1));
}

HWY_INLINE float sum_of(V32 value) {
  return hn::GetLane(hn::SumOfLanes(f32_lanes, value));
}
HWY_INLINE float max_of(V32 value) {
  return hn::GetLane(hn::MaxOfLanes(f32_lanes, value));
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_KERNELS_CPU_VECTOR_INL_H_
