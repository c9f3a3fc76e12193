#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/select.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/copy_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

void select_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows x = source_rows(call, memory, 0);
  const SinkRows y = sink_rows(call, memory, 0);
  const std::int64_t seq = call.in(0).shape[1];
  const auto* mask = memory.in<std::uint8_t>(1);
  for (std::int64_t batch = begin; batch < end; ++batch) {
    std::int64_t position = call.attributes.row == RowChoice::last ? seq - 1 : 0;
    while (mask != nullptr && position > 0 && mask[batch * seq + position] == 0) --position;
    copy_row(x[batch * seq + position], y[batch], call.in(0).width());
  }
}

void mean_pool_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* scratch) {
  const SourceRows x = source_rows(call, memory, 0);
  const auto* mask = memory.in<std::uint8_t>(1);
  const SinkRows y = sink_rows(call, memory, 0);
  const std::int64_t seq = call.in(0).shape[1];
  const std::int64_t width = call.in(0).width();
  for (std::int64_t batch = begin; batch < end; ++batch) {
    std::fill(scratch, scratch + width, 0.0F);
    std::int64_t real = 0;
    for (std::int64_t token = batch * seq; token < (batch + 1) * seq; ++token) {
      if (mask != nullptr && mask[token] == 0) continue;
      ++real;
      const Source one = x[token];
      for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
        lanes.put(hn::Add(lanes.get(source_of(scratch), i), lanes.get(one, i)), sink_of(scratch), i);
      });
    }
    const V32 share = hn::Set(f32_lanes, 1.0F / static_cast<float>(std::max<std::int64_t>(real, 1)));
    const Sink mean = y[batch];
    for_vectors(width, [&](auto lanes, std::int64_t i)
                           HWY_ATTR { lanes.put(hn::Mul(lanes.get(source_of(scratch), i), share), mean, i); });
  }
}

/// Rows [begin, end) of the output, of which input `part` gives those from `first` on.
void concat_rows_of(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SinkRows y = sink_rows(call, memory, 0);
  std::int64_t first = 0;
  for (std::size_t part = 0; part < call.inputs.size(); ++part) {
    const SourceRows x = source_rows(call, memory, part);
    const std::int64_t rows = call.in(part).rows();
    for (std::int64_t row = std::max(begin, first); row < std::min(end, first + rows); ++row)
      copy_row(x[row - first], y[row], call.in(part).width());
    first += rows;
  }
}

/// The same for vectors, whose one axis is stacked.
void concat_vectors(const Call& call, const Memory& memory, std::int64_t, std::int64_t, float*) {
  std::int64_t first = 0;
  for (std::size_t part = 0; part < call.inputs.size(); ++part) {
    copy_row(source_rows(call, memory, part)[0], shifted(sink_rows(call, memory, 0)[0], first), call.in(part).width());
    first += call.in(part).width();
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(select_rows);
HWY_EXPORT(mean_pool_rows);
HWY_EXPORT(concat_rows_of);
HWY_EXPORT(concat_vectors);

Offer select_row_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_copying(call)) return Declined{why};
  const RowWork work = {call.out(0).rows(), call.out(0).width()};
  return moving(call, row_prepared(call, facts, work, [] { return &HWY_DYNAMIC_DISPATCH(select_rows); }));
}

Offer mean_pool_vectors(const Call& call, const MachineFacts& facts) {
  if (call.in(1).present && call.in(1).dtype != DType::u8) return Declined{"the mask is not u8"};
  const Shape& shape = call.in(0).shape;  // (B, T, d)
  const RowWork work = {shape[0], shape[1] * shape[2], (shape[2] + 15) / 16 * 16};
  return row_offer(call, facts, work, [] { return &HWY_DYNAMIC_DISPATCH(mean_pool_rows); });
}

Offer concat_rows_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_copying(call)) return Declined{why};
  const RowWork work = {call.out(0).rows(), call.out(0).width()};
  const bool vectors = call.out(0).shape.size() == 1;
  if (vectors)
    return moving(call, row_prepared(call, facts, work, [] { return &HWY_DYNAMIC_DISPATCH(concat_vectors); }));
  return moving(call, row_prepared(call, facts, work, [] { return &HWY_DYNAMIC_DISPATCH(concat_rows_of); }));
}

}  // namespace assay::cpu
#endif
