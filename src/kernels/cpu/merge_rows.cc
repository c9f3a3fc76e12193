#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
#include "kernels/experts.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/merge_rows.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// `places`: of each token's experts, the grouped row. Sums stay in registers.
void merge_tokens(const Call& call, const Memory& memory, const std::int32_t* places, std::int64_t begin,
                  std::int64_t end) {
  const SourceRows y = source_rows(call, memory, 0);
  const SinkRows merged = sink_rows(call, memory, 0);
  const auto* const weights = memory.in<float>(2);
  const std::int64_t active = call.in(2).width();
  for (std::int64_t token = begin; token < end; ++token) {
    const std::int32_t* const rows = places + token * active;
    for_vectors(call.out(0).width(), [&](auto lanes, std::int64_t i) HWY_ATTR {
      V32 sum = hn::Zero(f32_lanes);
      for (std::int64_t k = 0; k < active; ++k)
        sum = hn::MulAdd(hn::Set(f32_lanes, weights[token * active + k]), lanes.get(y[rows[k]], i), sum);
      lanes.put(sum, merged[token], i);
    });
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(merge_tokens);

Offer merge_rows_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_vectors(call)) return Declined{why};
  if (call.in(2).dtype != DType::f32) return Declined{"the weights are not f32"};
  const char* target = choose_vector_target(facts);
  const auto tokens = &HWY_DYNAMIC_DISPATCH(merge_tokens);
  const auto run = [call, tokens](const Memory& memory) {
    auto* const places = reinterpret_cast<std::int32_t*>(memory.workspace);
    find_grouped_rows(call, memory, places);
    const std::int64_t steps = call.in(2).width() * call.out(0).width() / 16;
    for_parts(call.out(0).rows(), steps, call.threads,
              [&](std::int64_t, std::int64_t begin, std::int64_t end) { tokens(call, memory, places, begin, end); });
  };
  Prepared prepared = vector_kernel(make_kernel(run), target);
  prepared.workspace_bytes = static_cast<std::size_t>(element_count(call.in(1).shape)) * sizeof(std::int32_t);
  return prepared;
}

}  // namespace assay::cpu
#endif
