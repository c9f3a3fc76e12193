// Included once for each instruction set, by each file that Highway compiles for several.
#if defined(ASSAY_KERNELS_CPU_PAIR_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_CPU_PAIR_ROWS_INL_H_
#undef ASSAY_KERNELS_CPU_PAIR_ROWS_INL_H_
#else
#define ASSAY_KERNELS_CPU_PAIR_ROWS_INL_H_
#endif

#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

HWY_INLINE W32 load_halves(const std::byte* data) {
  const hn::Rebind<std::uint16_t, F32> half;
  return hn::PromoteTo(u32_lanes, hn::LoadU(half, reinterpret_cast<const std::uint16_t*>(data)));
}

/// 16 bits of two rows side by side in each 32-bit lane, the first row's in the lower half: of 16-bit values as they
/// are, of f32 rounded to bf16. Whole vectors: `count` is a multiple of lane_count().
template <DType stored>
HWY_INLINE void pair_rows(const std::byte* first, const std::byte* second, std::byte* pairs, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += lane_count()) {
    const std::int64_t at = i * bytes_of(stored);
    W32 low;
    W32 high;
    if constexpr (stored == DType::f32) {
      const auto rounded = [at](const std::byte* row) HWY_ATTR {
        return upper_bf16(hn::LoadU(f32_lanes, reinterpret_cast<const float*>(row + at)));
      };
      low = hn::ShiftRight<16>(rounded(first));
      high = hn::And(rounded(second), hn::Set(u32_lanes, 0xffff0000));
    } else {
      low = load_halves(first + at);
      high = hn::ShiftLeft<16>(load_halves(second + at));
    }
    hn::StoreU(hn::Or(low, high), u32_lanes, reinterpret_cast<std::uint32_t*>(pairs) + i);
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_KERNELS_CPU_PAIR_ROWS_INL_H_
