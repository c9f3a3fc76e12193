#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/sum_rows.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// Columns that one pass over the rows sums: their f32 sums stay in the first cache.
constexpr std::int64_t columns_together = 256;

/// The sums of `width` columns from `first` on. Four rows at a time: sums are loaded and stored once for all of them.
void sum_columns(const SourceRows& x, std::int64_t rows, std::int64_t first, std::int64_t width, float* sums) {
  constexpr std::int64_t rows_together = 4;
  std::memset(sums, 0, static_cast<std::size_t>(width) * sizeof(float));
  std::int64_t row = 0;
  for (; row + rows_together <= rows; row += rows_together) {
    const Source four[] = {x[row], x[row + 1], x[row + 2], x[row + 3]};
    for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
      const V32 upper = hn::Add(lanes.get(four[0], first + i), lanes.get(four[1], first + i));
      const V32 lower = hn::Add(lanes.get(four[2], first + i), lanes.get(four[3], first + i));
      lanes.put(hn::Add(lanes.get(source_of(sums), i), hn::Add(upper, lower)), sink_of(sums), i);
    });
  }
  for (; row < rows; ++row) {
    const Source one = x[row];
    for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
      lanes.put(hn::Add(lanes.get(source_of(sums), i), lanes.get(one, first + i)), sink_of(sums), i);
    });
  }
}

/// Blocks [begin, end) of columns_together columns.
void sum_blocks(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* sums) {
  const SourceRows x = source_rows(call, memory, 0);
  const Sink y = sink_rows(call, memory, 0)[0];
  for (std::int64_t block = begin; block < end; ++block) {
    const std::int64_t first = block * columns_together;
    const std::int64_t width = std::min(columns_together, call.in(0).width() - first);
    sum_columns(x, call.in(0).rows(), first, width, sums);
    for_vectors(width,
                [&](auto lanes, std::int64_t i) HWY_ATTR { lanes.put(lanes.get(source_of(sums), i), y, first + i); });
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(sum_blocks);

Offer sum_rows_vectors(const Call& call, const MachineFacts& facts) {
  constexpr std::int64_t together = 256;
  const RowWork work = {(call.in(0).width() + together - 1) / together, call.in(0).rows() * together, together};
  return row_offer(call, facts, work, [] { return &HWY_DYNAMIC_DISPATCH(sum_blocks); });
}

}  // namespace assay::cpu
#endif
