#include "kernels/cpu/epilogue.h"

#include "kernels/cpu/targets.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/epilogue.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include <hwy/cache_control.h>

#include "kernels/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

constexpr std::int64_t panel_width = 32;

/// What the columns of one vector have in common, whatever the row.
struct Column {
  hn::Vec<S32> offset;  ///< 128 * column sums
  V32 w_scale;
  V32 bias;
};

template <typename Lanes>
HWY_INLINE Column column_at(const Epilogue& epilogue, Lanes lanes, std::int64_t i) {
  // Column sums are padded to whole panels, as the sums are.
  const auto x128 = epilogue.column_sums == nullptr ? hn::Zero(s32_lanes)
                                                    : hn::ShiftLeft<7>(hn::LoadU(s32_lanes, epilogue.column_sums + i));
  return {.offset = x128,
          .w_scale = epilogue.w_scale == nullptr ? constant(1) : lanes.get(source_of(epilogue.w_scale), i),
          .bias = epilogue.bias.data == nullptr ? constant(0) : lanes.get(epilogue.bias, i)};
}

HWY_INLINE V32 sum_at(const std::byte* sums, const Column&, std::int64_t at, float) {
  return hn::LoadU(f32_lanes, reinterpret_cast<const float*>(sums) + at);
}
HWY_INLINE V32 sum_at(const std::byte* sums, const Column& column, std::int64_t at, std::int32_t) {
  const auto sum = hn::LoadU(s32_lanes, reinterpret_cast<const std::int32_t*>(sums) + at);
  return hn::ConvertTo(f32_lanes, hn::Sub(sum, column.offset));
}

/// Rows of a panel's sums, float or std::int32_t.
template <typename Sum>
struct Sums {
  const std::byte* data;
  std::int64_t rows;
};

/// The rows of `count` neighbouring vectors of columns, row by row: y is written from left to right.
/// typed(lanes) are those of y's and onto's dtype; scales and bias have dtypes of their own.
template <std::int64_t count, typename Sum, typename Lanes, typename Typed, typename Function>
HWY_INLINE void finish_columns(const Epilogue& epilogue, Sums<Sum> sums, Lanes lanes, Typed typed, std::int64_t first,
                               Function activation) {
  const std::int64_t step = lane_count();
  const auto row_lanes = typed(lanes);
  const float* x_scales = epilogue.x_scale;
  const SourceRows onto = epilogue.onto;
  const SinkRows out = epilogue.y;
  Column columns[count];
  for (std::int64_t j = 0; j < count; ++j) columns[j] = column_at(epilogue, lanes, first + j * step);
  for (std::int64_t row = 0; row < sums.rows; ++row) {
    const V32 x_scale = constant(x_scales == nullptr ? 1.0F : x_scales[row]);
    const Source onto_row = onto[row];
    const Sink out_row = out[row];
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t i = first + j * step;
      const V32 scaled = hn::Mul(sum_at(sums.data, columns[j], row * panel_width + i, Sum{}), x_scale);
      const V32 y = activation(hn::MulAdd(scaled, columns[j].w_scale, columns[j].bias));
      row_lanes.put(onto_row.data == nullptr ? y : hn::Add(y, row_lanes.get(onto_row, i)), out_row, i);
    }
  }
}

template <typename Sum, typename Typed, typename Function>
HWY_INLINE void finish_sums(const Epilogue& epilogue, Sums<Sum> sums, std::int64_t columns, Typed typed,
                            Function activation) {
  if (columns == panel_width) {
    constexpr std::int64_t vectors = panel_width / static_cast<std::int64_t>(hn::MaxLanes(f32_lanes));
    return finish_columns<vectors>(epilogue, sums, Whole{}, typed, 0, activation);
  }
  for_vectors(columns, [&](auto lanes, std::int64_t i)
                           HWY_ATTR { finish_columns<1>(epilogue, sums, lanes, typed, i, activation); });
}

void finish(const Epilogue& epilogue, const std::byte* sums, std::int64_t rows, std::int64_t columns) {
  with_activation(epilogue.activation, [&](auto activation) HWY_ATTR {
    with_dtype(common_dtype(epilogue.onto, epilogue.y), [&](auto typed) HWY_ATTR {
      if (epilogue.sums == DType::s32)
        return finish_sums(epilogue, Sums<std::int32_t>{sums, rows}, columns, typed, activation);
      finish_sums(epilogue, Sums<float>{sums, rows}, columns, typed, activation);
    });
  });
}

void stream(const Epilogue& epilogue, const std::byte* sums, std::int64_t rows, std::int64_t columns) {
  const SinkRows out = epilogue.y;
  const auto* sum = reinterpret_cast<const float*>(sums);
  with_dtype(out.dtype, [&](auto typed) HWY_ATTR {
    const auto lanes = typed(Streamed{});
    for (std::int64_t row = 0; row < rows; ++row, sum += panel_width) {
      for (std::int64_t i = 0; i < columns; i += lane_count()) lanes.put(hn::LoadU(f32_lanes, sum + i), out[row], i);
    }
  });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(finish);
HWY_EXPORT(stream);

Finish choose_finish() {
  return &HWY_DYNAMIC_DISPATCH(finish);
}

Finish choose_stream() {
  return &HWY_DYNAMIC_DISPATCH(stream);
}

void end_streams() {
  hwy::FlushStream();
}

}  // namespace assay::cpu
#endif
