#include "kernels/cpu/epilogue.h"

#include "kernels/cpu/targets.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/epilogue.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

constexpr std::int64_t panel_width = 32;

/// The rows of one vector of columns.
template <typename Lanes, typename Sums, typename Function>
HWY_INLINE void finish_column(const Epilogue& epilogue, Lanes lanes, std::int64_t i, std::int64_t rows, Sums sum,
                              Function activation) {
  const V32 w_scale = epilogue.w_scale == nullptr ? constant(1) : lanes.get(source_of(epilogue.w_scale), i);
  const V32 bias = epilogue.bias == nullptr ? constant(0) : lanes.get(source_of(epilogue.bias), i);
  for (std::int64_t row = 0; row < rows; ++row) {
    const V32 x_scale = constant(epilogue.x_scale == nullptr ? 1.0F : epilogue.x_scale[row]);
    const V32 value = hn::MulAdd(hn::Mul(sum(row * panel_width + i), x_scale), w_scale, bias);
    lanes.put(activation(value), epilogue.y[row], i);
  }
}

void finish(const Epilogue& epilogue, const std::byte* sums, std::int64_t rows, std::int64_t columns) {
  const hn::RebindToSigned<F32> integers;
  with_activation(epilogue.activation, [&](auto activation) HWY_ATTR {
    for_vectors(columns, [&](auto lanes, std::int64_t i) HWY_ATTR {
      if (epilogue.sums == DType::f32) {
        const auto f32_sum = [=](std::int64_t at)
                                 HWY_ATTR { return hn::LoadU(f32_lanes, reinterpret_cast<const float*>(sums) + at); };
        return finish_column(epilogue, lanes, i, rows, f32_sum, activation);
      }
      // Column sums are padded to whole panels, as the sums are.
      auto offset = hn::Zero(integers);
      if (epilogue.column_sums != nullptr) offset = hn::ShiftLeft<7>(hn::LoadU(integers, epilogue.column_sums + i));
      const auto s32_sum = [=](std::int64_t at) HWY_ATTR {
        const auto sum = hn::LoadU(integers, reinterpret_cast<const std::int32_t*>(sums) + at);
        return hn::ConvertTo(f32_lanes, hn::Sub(sum, offset));
      };
      finish_column(epilogue, lanes, i, rows, s32_sum, activation);
    });
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
