#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/add_rows.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

void add_table_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows x = source_rows(call, memory, 0);
  const SourceRows table = source_rows(call, memory, 1);
  const SinkRows y = sink_rows(call, memory, 0);
  const std::int64_t seq = call.in(0).shape[1];
  const bool by_position = call.attributes.row == RowChoice::by_position;
  for (std::int64_t token = begin; token < end; ++token) {
    const Source from = x[token];
    const Sink to = y[token];
    const Source added = table[by_position ? token % seq : 0];
    for_vectors(call.in(0).width(), [&](auto lanes, std::int64_t i) HWY_ATTR {
      lanes.put(hn::Add(lanes.get(from, i), lanes.get(added, i)), to, i);
    });
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(add_table_rows);

Offer add_rows_vectors(const Call& call, const MachineFacts& facts) {
  return row_offer(call, facts, first_input_rows(call), [] { return &HWY_DYNAMIC_DISPATCH(add_table_rows); });
}

}  // namespace assay::cpu
#endif
