#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/embedding_gradient.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/copy_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// The table starts as `onto`, which may be the same memory, or as zeros.
void start_table_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float*) {
  const SourceRows onto = source_rows(call, memory, 2);
  const SinkRows table = sink_rows(call, memory, 0);
  const std::int64_t width = call.out(0).width();
  if (onto.data == table.data) return;
  for (std::int64_t row = begin; row < end; ++row) {
    if (onto.data == nullptr) {
      zero_row(table[row], width);
    } else {
      copy_row(onto[row], table[row], width);
    }
  }
}

/// Adds `width` columns from `first` on of a token's row to the same columns of `sums`.
void add_token(Source dy, std::int64_t first, std::int64_t width, float* sums) {
  const Source from = shifted(dy, first);
  for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
    lanes.put(hn::Add(lanes.get(source_of(sums), i), lanes.get(from, i)), sink_of(sums), i);
  });
}

/// Columns [begin, end), in lines of floats_a_line, of every row that an id names; `scratch`: the sorted tokens, and
/// behind them a row of sums, of which this part takes its columns.
void add_embedding_columns(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end,
                           float* scratch) {
  const std::int64_t tokens = call.in(1).rows();
  const auto* sorted = reinterpret_cast<const std::uint64_t*>(scratch);
  const SourceRows dy = source_rows(call, memory, 1);
  const SinkRows table = sink_rows(call, memory, 0);
  const std::int64_t first = begin * floats_a_line;
  const std::int64_t width = std::min(end * floats_a_line, call.out(0).width()) - first;
  float* sums = scratch + whole_lines(2 * tokens) + first;
  for (std::int64_t t = 0; t < tokens;) {
    const std::uint64_t id = sorted[t] >> 32;
    if (static_cast<std::int64_t>(id) == call.attributes.padding_id) {
      ++t;
      continue;
    }
    std::fill_n(sums, width, 0.0F);
    for (; t < tokens && sorted[t] >> 32 == id; ++t)
      add_token(dy[static_cast<std::int64_t>(sorted[t] & 0xffffffffU)], first, width, sums);
    const Sink row = shifted(table[static_cast<std::int64_t>(id)], first);
    for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
      lanes.put(hn::Add(lanes.get({row.data, row.dtype}, i), lanes.get(source_of(sums), i)), row, i);
    });
  }
}

/// Columns [begin, end), in lines of floats_a_line, of the whole table; `scratch`: a row of sums.
void add_rows_gradient_columns(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end,
                               float* scratch) {
  const Shape& shape = call.in(0).shape;  // (B, T, d)
  const SourceRows dy = source_rows(call, memory, 0);
  const SinkRows table = sink_rows(call, memory, 0);
  const std::int64_t first = begin * floats_a_line;
  const std::int64_t width = std::min(end * floats_a_line, shape[2]) - first;
  const bool by_position = call.attributes.row == RowChoice::by_position;
  const std::int64_t step = by_position ? shape[1] : 1;
  const std::int64_t used = by_position ? shape[1] : 1;
  float* sums = scratch + first;
  for (std::int64_t row = 0; row < call.out(0).rows(); ++row) {
    std::fill_n(sums, width, 0.0F);
    for (std::int64_t token = row; row < used && token < shape[0] * shape[1]; token += step)
      add_token(dy[token], first, width, sums);
    copy_row(source_of(sums), shifted(table[row], first), width);
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(start_table_rows);
HWY_EXPORT(add_embedding_columns);
HWY_EXPORT(add_rows_gradient_columns);

namespace {

/// body(begin, end) on the columns, in lines: no two threads write the same element, and none needs a lock.
template <typename Body>
void for_columns(const Call& call, std::int64_t tokens, Body body) {
  const std::int64_t lines = whole_lines(call.out(0).width()) / floats_a_line;
  for_parts(lines, tokens * floats_a_line, call.threads,
            [&](std::int64_t, std::int64_t begin, std::int64_t end) { body(begin, end); });
}

/// id << 32 | token, in order: the tokens of one id stand together, and are added in their own order.
void sort_tokens(const std::int32_t* ids, std::int64_t tokens, std::uint64_t* sorted) {
  for (std::int64_t t = 0; t < tokens; ++t)
    sorted[t] = static_cast<std::uint64_t>(ids[t]) << 32 | static_cast<std::uint64_t>(t);
  std::sort(sorted, sorted + tokens);
}

}  // namespace

Offer embedding_gradient_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_vectors(call)) return Declined{why};
  if (call.in(0).dtype != DType::s32) return Declined{"the ids are not s32"};
  const char* target = choose_vector_target(facts);
  const RowKernel start = HWY_DYNAMIC_DISPATCH(start_table_rows);
  const RowKernel add = HWY_DYNAMIC_DISPATCH(add_embedding_columns);
  const std::int64_t tokens = call.in(1).rows();
  const auto run = [call, start, add, tokens](const Memory& memory) {
    auto* scratch = reinterpret_cast<float*>(memory.workspace);
    sort_tokens(memory.in<std::int32_t>(0), tokens, reinterpret_cast<std::uint64_t*>(scratch));
    for_parts(call.out(0).rows(), call.out(0).width(), call.threads,
              [&](std::int64_t, std::int64_t begin, std::int64_t end) { start(call, memory, begin, end, scratch); });
    for_columns(call, tokens, [&](std::int64_t begin, std::int64_t end) { add(call, memory, begin, end, scratch); });
  };
  Prepared prepared = vector_kernel(make_kernel(run), target);
  const std::int64_t floats = whole_lines(2 * tokens) + whole_lines(call.out(0).width());
  prepared.workspace_bytes = static_cast<std::size_t>(floats) * sizeof(float);
  return prepared;
}

Offer add_rows_gradient_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_vectors(call)) return Declined{why};
  const char* target = choose_vector_target(facts);
  const RowKernel add = HWY_DYNAMIC_DISPATCH(add_rows_gradient_columns);
  const auto run = [call, add](const Memory& memory) {
    auto* scratch = reinterpret_cast<float*>(memory.workspace);
    for_columns(call, call.in(0).rows(),
                [&](std::int64_t begin, std::int64_t end) { add(call, memory, begin, end, scratch); });
  };
  Prepared prepared = vector_kernel(make_kernel(run), target);
  prepared.workspace_bytes = static_cast<std::size_t>(whole_lines(call.out(0).width())) * sizeof(float);
  return prepared;
}

}  // namespace assay::cpu
#endif
