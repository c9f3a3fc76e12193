#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/select_gradient.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/copy_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// Rows are tokens.
void select_row_gradient_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows dy = source_rows(call, memory, 0);
  const SinkRows dx = sink_rows(call, memory, 0);
  const std::int64_t seq = call.out(0).shape[1];
  const std::int64_t width = call.out(0).width();
  const std::int64_t position = call.attributes.row == RowChoice::last ? seq - 1 : 0;
  for (std::int64_t token = begin; token < end; ++token) {
    if (token % seq == position) {
      copy_row(dy[token / seq], dx[token], width);
    } else {
      zero_row(dx[token], width);
    }
  }
}

std::int64_t count_real(const std::uint8_t* mask, std::int64_t seq) {
  return mask == nullptr ? seq : seq - std::count(mask, mask + seq, std::uint8_t{0});
}

/// Rows are sequences.
void mean_pool_gradient_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows dy = source_rows(call, memory, 0);
  const SinkRows dx = sink_rows(call, memory, 0);
  const std::int64_t seq = call.out(0).shape[1];
  const std::int64_t width = call.out(0).width();
  for (std::int64_t batch = begin; batch < end; ++batch) {
    const auto* given = memory.in<std::uint8_t>(1);
    const std::uint8_t* mask = given == nullptr ? nullptr : given + batch * seq;
    const V32 share = hn::Set(f32_lanes, 1.0F / static_cast<float>(std::max<std::int64_t>(count_real(mask, seq), 1)));
    const Source given_row = dy[batch];
    for (std::int64_t t = 0; t < seq; ++t) {
      const Sink row = dx[batch * seq + t];
      if (mask != nullptr && mask[t] == 0) {
        zero_row(row, width);
        continue;
      }
      for_vectors(width, [&](auto lanes, std::int64_t i)
                             HWY_ATTR { lanes.put(hn::Mul(lanes.get(given_row, i), share), row, i); });
    }
  }
}

void concat_columns_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SinkRows y = sink_rows(call, memory, 0);
  for (std::int64_t row = begin; row < end; ++row) {
    std::int64_t column = 0;
    for (std::size_t part = 0; part < call.inputs.size(); ++part) {
      const std::int64_t width = call.in(part).width();
      copy_row(source_rows(call, memory, part)[row], shifted(y[row], column), width);
      column += width;
    }
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(select_row_gradient_rows);
HWY_EXPORT(mean_pool_gradient_rows);
HWY_EXPORT(concat_columns_rows);

namespace {

RowWork output_rows(const Call& call) {
  return {call.out(0).rows(), call.out(0).width(), 0};
}

}  // namespace

Offer select_row_gradient_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_copying(call)) return Declined{why};
  return moving(call, row_prepared(call, facts, output_rows(call),
                                   [] { return &HWY_DYNAMIC_DISPATCH(select_row_gradient_rows); }));
}

Offer mean_pool_gradient_vectors(const Call& call, const MachineFacts& facts) {
  if (call.in(1).present && call.in(1).dtype != DType::u8) return Declined{"the mask is not u8"};
  const Shape& shape = call.out(0).shape;  // (B, T, d)
  const RowWork work = {shape[0], shape[1] * shape[2], 0};
  return row_offer(call, facts, work, [] { return &HWY_DYNAMIC_DISPATCH(mean_pool_gradient_rows); });
}

Offer concat_columns_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_copying(call)) return Declined{why};
  return moving(
      call, row_prepared(call, facts, output_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(concat_columns_rows); }));
}

}  // namespace assay::cpu
#endif
