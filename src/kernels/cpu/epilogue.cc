#include "kernels/cpu/epilogue.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/epilogue.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

constexpr std::int64_t panel_width = 32;

HWY_INLINE V32 s32_sums(const Epilogue& epilogue, const std::byte* sums, std::int64_t i) {
  const hn::RebindToSigned<F32> integers;
  auto sum = hn::LoadU(integers, reinterpret_cast<const std::int32_t*>(sums) + i);
  if (epilogue.column_sums != nullptr) {
    sum = hn::Sub(sum, hn::ShiftLeft<7>(hn::LoadU(integers, epilogue.column_sums + i)));
  }
  return hn::ConvertTo(f32_lanes, sum);
}

/// Columns i, i + 1, ... of one row, before bias and activation. Sums and column sums are padded to whole panels.
template <typename Lanes>
HWY_INLINE V32 scaled_sums(const Epilogue& epilogue, const std::byte* sums, Lanes lanes, std::int64_t i) {
  V32 value = epilogue.sums == DType::s32 ? s32_sums(epilogue, sums, i)
                                          : hn::LoadU(f32_lanes, reinterpret_cast<const float*>(sums) + i);
  if (epilogue.w_scale != nullptr) value = hn::Mul(value, lanes.get(source_of(epilogue.w_scale), i));
  return value;
}

void finish(const Epilogue& epilogue, const std::byte* sums, std::int64_t rows, std::int64_t columns) {
  with_activation(epilogue.activation, [&](auto activation) HWY_ATTR {
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::byte* const row_sums = sums + row * panel_width * 4;
      const V32 x_scale = constant(epilogue.x_scale == nullptr ? 1.0F : epilogue.x_scale[row]);
      const Sink y = epilogue.y[row];
      for_vectors(columns, [&](auto lanes, std::int64_t i) HWY_ATTR {
        V32 value = hn::Mul(scaled_sums(epilogue, row_sums, lanes, i), x_scale);
        if (epilogue.bias != nullptr) value = hn::Add(value, lanes.get(source_of(epilogue.bias), i));
        lanes.put(activation(value), y, i);
      });
    }
  });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(finish);

Finish choose_finish() {
  return &HWY_DYNAMIC_DISPATCH(finish);
}

}  // namespace assay::cpu
#endif
