#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/threads.h"
#include "kernels/kernel.h"

namespace assay::cpu {

/// Consecutive elements of a float dtype, s8 or e4m3, read as f32 lanes. `data` is null where the argument is absent.
struct Source {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
};
struct Sink {
  std::byte* data = nullptr;
  DType dtype = DType::f32;
  float factor = 1;  ///< Of what is stored in s8.
};

/// An input or output as rows, which may be windows into wider rows.
struct SourceRows {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t stride_bytes = 0;
  std::int64_t groups = 1;  ///< by_group: rows that lie in one.
  std::int64_t group_bytes = 0;

  Source operator[](std::int64_t row) const { return {data == nullptr ? nullptr : data + offset(row), dtype}; }
  std::int64_t offset(std::int64_t row) const {
    return groups == 1 ? row * stride_bytes : row / groups * stride_bytes + row % groups * group_bytes;
  }
};
struct SinkRows {
  std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t stride_bytes = 0;
  std::int64_t groups = 1;
  std::int64_t group_bytes = 0;
  float factor = 1;

  Sink operator[](std::int64_t row) const { return {data == nullptr ? nullptr : data + offset(row), dtype, factor}; }
  std::int64_t offset(std::int64_t row) const {
    return groups == 1 ? row * stride_bytes : row / groups * stride_bytes + row % groups * group_bytes;
  }
};

/// With each stretch of a norm as a row.
template <typename Rows>
Rows by_group(Rows all, const NormRows& norm) {
  all.groups = norm.groups;
  all.group_bytes = norm.width * static_cast<std::int64_t>(size_of(all.dtype));
  return all;
}

/// The dtype of all that are present; none where they differ or none is.
template <typename... Rows>
std::optional<DType> common_dtype(const Rows&... rows) {
  std::optional<DType> first;
  const auto fits = [&first](const auto& one) {
    if (one.data != nullptr && !first) first = one.dtype;
    return one.data == nullptr || one.dtype == first;
  };
  return (fits(rows) && ...) ? first : std::nullopt;
}

SourceRows source_rows(const Call& call, const Memory& memory, std::size_t index);
SinkRows sink_rows(const Call& call, const Memory& memory, std::size_t index);
/// The same, `elements` further on.
inline Source shifted(Source source, std::int64_t elements) {
  return {source.data + elements * static_cast<std::int64_t>(size_of(source.dtype)), source.dtype};
}
inline Sink shifted(Sink sink, std::int64_t elements) {
  return {sink.data + elements * static_cast<std::int64_t>(size_of(sink.dtype)), sink.dtype, sink.factor};
}

/// Work of fewer elements than this stays on the calling thread: starting another takes about as long.
constexpr std::int64_t elements_worth_a_thread = 16 * 1024;

/// body(part, begin, end) on contiguous parts of [0, rows), on at most `threads` threads and so that a part has
/// elements_worth_a_thread at least. `part` is below `threads`: a kernel's scratch is divided by it.
template <typename Body>
void for_parts(std::int64_t rows, std::int64_t elements_per_row, int threads, Body body) {
  const std::int64_t worth = rows * elements_per_row / elements_worth_a_thread;
  const std::int64_t parts = std::clamp<std::int64_t>(std::min(worth, rows), 1, std::max(threads, 1));
  parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) body(part, rows * part / parts, rows * (part + 1) / parts);
  });
}

/// f32, f16 or bf16: what vector kernels load and store.
bool is_vector_float(DType dtype);
/// Whether they can store that output: such a float, or s8 with a scale (Attributes::output_scale).
bool is_vector_output(DType dtype, double output_scale);
/// What values are multiplied by before they are stored in s8.
float sink_factor(double output_scale);

/// Elements that are handled at a time where rows do not matter, and that random numbers are made for on the stack.
constexpr std::int64_t chunk_elements = 1024;

/// Rows [begin, end) of a call, computed in vectors of one instruction set. `scratch` is the part's own.
using RowKernel = void (*)(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end,
                           float* scratch);

/// How a call is divided: into `rows` rows of `elements` each; `scratch` floats for each part of them.
struct RowWork {
  std::int64_t rows = 0;
  std::int64_t elements = 0;
  std::int64_t scratch = 0;
};
/// The rows of the first input.
RowWork first_input_rows(const Call& call);
/// The same, with scratch for one row in f32.
RowWork with_scratch_row(const Call& call);

/// In words, the first thing that vector code cannot take (a dtype, a packed layout, arithmetic in 16 bits); null where
/// it can take all.
const char* unfit_for_vectors(const Call& call);

/// Chooses the instruction set that Highway's dispatch uses from now on: the best that the facts allow. Returns its
/// name: "avx512", "avx2", "baseline".
const char* choose_vector_target(const MachineFacts& facts);

/// The same for operations that only move elements: equal dtypes of any kind, or floats.
const char* unfit_for_copying(const Call& call);

/// The row kernel that `choose` gives once the instruction set is chosen, made ready.
Prepared row_prepared(const Call& call, const MachineFacts& facts, const RowWork& work, RowKernel (*choose)());
/// Says of a prepared kernel that it computes nothing.
Prepared moving(const Call& call, Prepared prepared);
/// Offers the row kernel that `choose` gives once the instruction set is chosen, or declines what is unfit for vectors.
Offer row_offer(const Call& call, const MachineFacts& facts, const RowWork& work, RowKernel (*choose)());

/// A row kernel whose parts leave sums in their scratch, which is zero at first, and what then becomes of them:
/// `finish` is handed the number of parts as `end` and the scratch of all, RowWork::scratch floats apart.
struct SummingKernel {
  RowKernel sum;
  RowKernel finish;
};
Prepared summing_prepared(const Call& call, const MachineFacts& facts, const RowWork& work, SummingKernel (*choose)());

constexpr std::int64_t floats_a_line = 16;
/// The next multiple of floats_a_line: what keeps the scratch of parts on lines of their own.
constexpr std::int64_t whole_lines(std::int64_t floats) {
  return (floats + floats_a_line - 1) / floats_a_line * floats_a_line;
}

/// Scratch of a part that sums one f64: a cache line of its own.
constexpr std::int64_t floats_of_a_double = whole_lines(2);
/// The sum of the f64 that each part left at the start of such scratch.
double sum_of_doubles(const float* sums, std::int64_t parts);

/// A kernel that computes in f32 vectors of that instruction set.
Prepared vector_kernel(std::unique_ptr<Kernel> kernel, const char* target);

}  // namespace assay::cpu
