// Included once for each instruction set, by each file that Highway compiles for several.
#if defined(ASSAY_KERNELS_CPU_COPY_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_CPU_COPY_ROW_INL_H_
#undef ASSAY_KERNELS_CPU_COPY_ROW_INL_H_
#else
#define ASSAY_KERNELS_CPU_COPY_ROW_INL_H_
#endif

#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// `width` elements of any dtype into the same, or of a float dtype into another.
HWY_INLINE void copy_row(Source x, Sink y, std::int64_t width) {
  if (x.dtype == y.dtype) {
    std::memcpy(y.data, x.data, static_cast<std::size_t>(width) * size_of(x.dtype));
    return;
  }
  for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR { lanes.put(lanes.get(x, i), y, i); });
}

HWY_INLINE void zero_row(Sink y, std::int64_t width) {
  std::memset(y.data, 0, static_cast<std::size_t>(width) * size_of(y.dtype));
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_KERNELS_CPU_COPY_ROW_INL_H_
