#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/embedding.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// Row `id` of a table in panels, gathered into `row`: each group of a row's elements stands `width` groups from the
/// next one.
void gather_panel_row(const Argument& table, const std::byte* data, std::int64_t id, std::byte* row) {
  const auto group_bytes = static_cast<std::int64_t>(size_of(table.dtype)) * table.packing.group;
  const std::int64_t in = table.shape[1];
  const std::int64_t groups = (in + table.packing.group - 1) / table.packing.group;
  const std::byte* from =
      data + panel_offset(table.packing, in, id, 0) * static_cast<std::int64_t>(size_of(table.dtype));
  const std::int64_t step = group_bytes * table.packing.width;
  if (group_bytes == 4) {
    for (std::int64_t g = 0; g < groups; ++g) std::memcpy(row + 4 * g, from + g * step, 4);
  } else {
    for (std::int64_t g = 0; g < groups; ++g)
      std::memcpy(row + group_bytes * g, from + g * step, static_cast<std::size_t>(group_bytes));
  }
}

void embedding_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* scratch) {
  const Argument& table = call.in(1);
  const auto* ids = memory.in<std::int32_t>(0);
  const auto* scales = memory.in<float>(2);
  const SourceRows plain = source_rows(call, memory, 1);
  const SinkRows y = sink_rows(call, memory, 0);
  auto* gathered = reinterpret_cast<std::byte*>(scratch);
  const bool packed = table.packing.kind == Packing::Kind::panels;
  for (std::int64_t token = begin; token < end; ++token) {
    if (packed) gather_panel_row(table, plain.data, ids[token], gathered);
    const Source row = packed ? Source{gathered, table.dtype} : plain[ids[token]];
    const Sink out = y[token];
    const V32 scale = hn::Set(f32_lanes, scales == nullptr ? 1.0F : scales[ids[token]]);
    for_vectors(table.shape[1],
                [&](auto lanes, std::int64_t i) HWY_ATTR { lanes.put(hn::Mul(lanes.get(row, i), scale), out, i); });
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(embedding_rows);

namespace {

const char* unfit_for_gathering(const Call& call) {
  const DType table = call.in(1).dtype;
  if (!is_vector_float(table) && table != DType::s8 && table != DType::e4m3)
    return "the table is neither f32 nor f16 nor bf16 nor s8 nor e4m3";
  if (!is_vector_float(call.out(0).dtype)) return "the output is neither f32 nor f16 nor bf16";
  if (call.in(0).dtype != DType::s32) return "the ids are not s32";
  if (call.in(2).present && call.in(2).dtype != DType::f32) return "the scales are not f32";
  return nullptr;
}

}  // namespace

Offer embedding_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_gathering(call)) return Declined{why};
  const std::int64_t width = call.in(1).shape[1];
  // The scratch holds a gathered row, its last group padded.
  const RowWork work = {call.out(0).rows(), width, (width + 31) / 16 * 16};
  Prepared prepared = row_prepared(call, facts, work, [] { return &HWY_DYNAMIC_DISPATCH(embedding_rows); });
  prepared.packing = {{}, call.in(1).packing};
  return prepared;
}

}  // namespace assay::cpu
#endif
