#include "kernels/cpu/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/cpu/blocking.h"
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/matmul_tasks.h"
#include "kernels/stripes.h"

namespace assay::cpu {
namespace {

/// How x is read: in place, or from rows in the workspace in the operand's dtype, K padded with zeros.
struct RowLayout {
  bool copied = false;
  std::int64_t stride = 0;  ///< bytes
};

/// Rows that lie whole multiples of 4 KiB apart fall into one set of the first cache, which has 8 to 12 ways.
bool collide_in_cache(std::int64_t stride, std::int64_t rows) {
  return stride % 4096 == 0 && rows > 4;
}

RowLayout row_layout(const LinearCall& call, const MatmulCode& code) {
  const std::int64_t in_place = call.x_stride * bytes_of(call.x);
  const bool whole_groups = call.in % code.group == 0;
  if (call.x == code.operand && code.lies_in == 0 && whole_groups && !collide_in_cache(in_place, call.rows))
    return {false, in_place};
  const std::int64_t dense = round_up(call.in * code.operand_bytes(), line_bytes);
  return {true, collide_in_cache(dense, call.rows) ? dense + line_bytes : dense};
}

class Matmul final : public Kernel {
 public:
  Matmul(const LinearCall& call, const MatmulCode& code)
      : call_(call),
        code_(code),
        rows_(row_layout(call, code)),
        chunk_(chunk_of(call, code)),
        tasks_(divide(call, code, chunk_)),
        threads_(useful_threads(call.rows * call.in * call.out, tasks_.count(), call.threads)),
        finish_(choose_finish()) {}

  std::size_t workspace_bytes() const {
    return static_cast<std::size_t>(rows_bytes() + threads_ * (sums_bytes() + wide_bytes()));
  }

  void run(const Memory& memory) const override {
    const LinearMemory tensors = linear_memory(call_, memory);
    if (tensors.rows == 0 || call_.out == 0) return;
    std::atomic<std::int64_t> next = 0;
    Barrier copied;
    on_threads(threads_, [&](int thread, int threads) {
      if (rows_.copied) {
        copy_rows(tensors, thread, threads);
        copied.wait(threads);
      }
      const std::int64_t count = tasks_of(tensors);
      for (std::int64_t task = next++; task < count; task = next++) run_task(tensors, task, thread);
    });
  }

 private:
  // The workspace: rows of x, then each thread's sums and widened panels.
  std::int64_t rows_bytes() const { return rows_.copied ? round_up(call_.rows * rows_.stride, line_bytes) : 0; }
  std::int64_t panel_sums_bytes() const {
    return (one_chunk() ? std::min<std::int64_t>(code_.block_rows, tasks_.task_rows) : tasks_.task_rows) *
           sum_row_bytes;
  }
  std::int64_t sums_bytes() const { return tasks_.task_panels * panel_sums_bytes(); }
  std::int64_t wide_bytes() const {
    return !code_.widens() ? 0
                           : ceil_div(chunk_, code_.group) * micro::panel_width * code_.group * code_.operand_bytes();
  }
  std::byte* scratch(const LinearMemory& tensors, int thread) const {
    return tensors.workspace + rows_bytes() + thread * (sums_bytes() + wide_bytes());
  }

  /// Of the rows of this run: they are cut as if there were all of them.
  std::int64_t tasks_of(const LinearMemory& tensors) const {
    return tasks_.panel_tasks * ceil_div(tensors.rows, tasks_.task_rows);
  }

  void copy_rows(const LinearMemory& tensors, int thread, int threads) const {
    const std::int64_t end = tensors.rows * (thread + 1) / threads;
    for (std::int64_t row = tensors.rows * thread / threads; row < end; ++row) {
      copy_row(call_, code_, tensors.x + row * call_.x_stride * bytes_of(call_.x),
               tensors.workspace + row * rows_.stride);
    }
  }

  /// Some panels times the rows of one task: chunk by chunk of K, so that a chunk of the rows is read from the second
  /// cache by all panels but the first. Tasks that share rows follow one another.
  void run_task(const LinearMemory& tensors, std::int64_t index, int thread) const {
    const std::int64_t first_panel = index % tasks_.panel_tasks * tasks_.task_panels;
    const std::int64_t first_row = index / tasks_.panel_tasks * tasks_.task_rows;
    const std::int64_t panels = ceil_div(call_.out, micro::panel_width);
    const std::int64_t next = index + threads_;
    Task task = {.tensors = tensors,
                 .sums = scratch(tensors, thread),
                 .wide = scratch(tensors, thread) + sums_bytes(),
                 .first_panel = first_panel,
                 .end_panel = std::min(first_panel + tasks_.task_panels, panels),
                 .first_row = first_row,
                 .end_row = std::min(first_row + tasks_.task_rows, tensors.rows),
                 .next_panel = next < tasks_of(tensors) ? next % tasks_.panel_tasks * tasks_.task_panels : no_panel};
    for (std::int64_t k = 0; k < std::max<std::int64_t>(call_.in, 1); k += chunk_) {
      for (std::int64_t panel = task.first_panel; panel < task.end_panel; ++panel) multiply_chunk(task, panel, k);
    }
  }

  struct Task {
    const LinearMemory& tensors;
    std::byte* sums;
    std::byte* wide;
    std::int64_t first_panel;
    std::int64_t end_panel;
    std::int64_t first_row;
    std::int64_t end_row;
    std::int64_t next_panel;  ///< The first of the task that this thread will take next where all are equally fast.
  };
  static constexpr std::int64_t no_panel = -1;

  bool one_chunk() const { return chunk_ >= call_.in; }

  /// Where the sums of a row are kept. With one chunk they are finished as soon as they are there, and every block of
  /// rows uses the same place in the first cache.
  std::byte* sums_at(const Task& task, std::int64_t panel, std::int64_t row) const {
    if (one_chunk()) return task.sums;
    return task.sums + (panel - task.first_panel) * panel_sums_bytes() + (row - task.first_row) * sum_row_bytes;
  }

  void multiply_chunk(const Task& task, std::int64_t panel, std::int64_t k) const {
    const std::int64_t count = std::min(chunk_, call_.in - k);
    const bool last = k + chunk_ >= call_.in;
    const Epilogue epilogue = epilogue_at(call_, code_, task.tensors, task.first_row, panel * micro::panel_width);
    const std::int64_t columns = std::min<std::int64_t>(micro::panel_width, call_.out - panel * micro::panel_width);
    micro::Block block;
    block.a_stride = rows_.stride;
    block.panel = panel_at(task, panel, k);
    block.groups = ceil_div(count, code_.group);
    block.sums = k == 0 ? micro::Sums::start : micro::Sums::go_on;
    const micro::Ahead ahead = after(task, panel, k);
    const std::byte* const x = (rows_.copied ? task.tensors.workspace : task.tensors.x) + k * code_.operand_bytes();
    for (std::int64_t row = task.first_row; row < task.end_row; row += code_.block_rows) {
      const std::int64_t rows = std::min<std::int64_t>(code_.block_rows, task.end_row - row);
      block.a = x + row * rows_.stride;
      block.ahead = ahead.share(row - task.first_row, code_.block_rows, task.end_row - task.first_row);
      block.c = sums_at(task, panel, row);
      code_.multiply(block, static_cast<int>(rows));
      if (last) finish_(epilogue.from_row(row - task.first_row), block.c, rows, columns);
    }
  }

  /// The panel's chunk from K = k on, as stored.
  const std::byte* stored_at(const Task& task, std::int64_t panel, std::int64_t k) const {
    const std::int64_t n = panel * micro::panel_width;
    const std::int64_t element =
        code_.blocks != nullptr
            ? stripe_offset(code_.packing, code_.blocks->bytes_of(call_.in), n, k / code_.blocks->elements)
            : panel_offset(code_.packing, call_.in, n, k);
    return task.tensors.weight + element * bytes_of(code_.packing.dtype);
  }

  /// The same in the operand's dtype.
  const std::byte* panel_at(const Task& task, std::int64_t panel, std::int64_t k) const {
    const std::byte* const stored = stored_at(task, panel, k);
    const std::int64_t count = std::min(chunk_, call_.in - k);
    if (!code_.widens()) return stored;
    if (code_.widen != nullptr) code_.widen(stored, ceil_div(count, code_.packing.group), task.wide);
    if (code_.blocks != nullptr)
      code_.widen_blocks(*code_.blocks, stored, ceil_div(count, code_.blocks->elements), task.wide);
    return task.wide;
  }

  /// Of `count` values of K, as stored.
  std::int64_t stored_bytes(std::int64_t count) const {
    if (code_.blocks != nullptr) return ceil_div(count, code_.blocks->elements) * stripe_bytes(*code_.blocks);
    return round_up(count, code_.packing.group) * micro::panel_width * bytes_of(code_.packing.dtype);
  }

  /// Whether enough blocks of rows share the fetching of a chunk. The vector loops ask for one line a group of K at
  /// most, of two that they read: with few rows they are no faster than memory anyway, and read it in order.
  bool fetches_ahead(const Task& task) const {
    return code_.block_rows > micro::vector_rows || task.end_row - task.first_row > 2 * code_.block_rows;
  }

  /// The chunk that this thread reads after the panel's one from k on.
  micro::Ahead after(const Task& task, std::int64_t panel, std::int64_t k) const {
    if (!fetches_ahead(task)) return {};
    const bool last_panel = panel + 1 == task.end_panel;
    const bool last = last_panel && k + chunk_ >= call_.in;
    if (last && task.next_panel == no_panel) return {};
    const std::int64_t next_panel = last ? task.next_panel : last_panel ? task.first_panel : panel + 1;
    const std::int64_t next_k = last ? 0 : last_panel ? k + chunk_ : k;
    return {stored_at(task, next_panel, next_k), stored_bytes(std::min(chunk_, call_.in - next_k))};
  }

  LinearCall call_;
  MatmulCode code_;
  RowLayout rows_;
  std::int64_t chunk_;
  Tasks tasks_;
  int threads_;
  Finish finish_;
};

/// s8 as s16.
void copy_in_16_bits(const std::byte* x, std::int64_t count, std::byte* row) {
  const auto* const from = reinterpret_cast<const std::int8_t*>(x);
  auto* const to = reinterpret_cast<std::int16_t*>(row);
#pragma omp simd
  for (std::int64_t k = 0; k < count; ++k) to[k] = from[k];
}

}  // namespace

void copy_row(const LinearCall& call, const MatmulCode& code, const std::byte* x, std::byte* row) {
  const std::int64_t padding = round_up(call.in, code.group) - call.in;
  std::memset(row + call.in * code.operand_bytes(), 0, static_cast<std::size_t>(padding * code.operand_bytes()));
  if (code.lies_in == 2) return copy_in_16_bits(x, call.in, row);
  if (code.operand != DType::u8) {
    convert(call.x, x, code.operand, row, static_cast<std::size_t>(call.in));
    return;
  }
#pragma omp simd
  for (std::int64_t k = 0; k < call.in; ++k) row[k] = x[k] ^ std::byte{0x80};
}

const char* unfit(const LinearCall& call, const MatmulCode& code) {
  if ((call.accumulator == DType::f16) != (code.accumulator == DType::f16)) return "it adds in another dtype";
  return unfit_for_panels(call, code.packing);
}

Epilogue epilogue_at(const LinearCall& call, const MatmulCode& code, const LinearMemory& tensors, std::int64_t row,
                     std::int64_t n) {
  Epilogue epilogue;
  epilogue.sums = code.sums;
  if (code.operand == DType::u8) {  // what s8 + 128 adds to each sum
    const std::size_t sums = column_sums_offset(code.packing, call.out, call.in);
    epilogue.column_sums = reinterpret_cast<const std::int32_t*>(tensors.weight + sums) + n;
  }
  if (call.has_x_scale) epilogue.x_scale = tensors.x_scale + row;
  if (call.has_w_scale) epilogue.w_scale = tensors.w_scale + n;
  if (call.has_bias) epilogue.bias = shifted({tensors.bias, call.bias}, n);
  epilogue.activation = call.activation;
  const std::int64_t size = bytes_of(call.y);
  epilogue.y = {.data = tensors.y + (row * call.y_stride + n) * size,
                .dtype = call.y,
                .stride_bytes = call.y_stride * size,
                .factor = sink_factor(call.y_scale)};
  return epilogue;
}

const char* unfit_for_panels(const LinearCall& call, const Packing& packing) {
  if (!is_vector_output(call.y, call.y_scale) || (call.has_bias && !is_vector_float(call.bias)))
    return "an output or bias of 16 or 32 bits is needed";
  if (!call.constant_weight) return "the weight changes between calls and is not packed";
  if (call.weight != packing.dtype) return "the weight has another dtype";
  if (call.packing.kind != Packing::Kind::plain && call.packing != packing) return "the weight is packed otherwise";
  return nullptr;
}

Packing panels_of(DType dtype) {
  const int group = dtype == DType::f16 ? 1 : static_cast<int>(4 / size_of(dtype));
  return {.kind = Packing::Kind::panels, .dtype = dtype, .width = micro::panel_width, .group = group};
}

Packing panels_of(const BlockFormat& format) {
  return {.kind = Packing::Kind::panels,
          .dtype = DType::u8,
          .width = micro::panel_width,
          .group = static_cast<std::int32_t>(stripe_bytes(format) / stripe_rows),
          .blocks = &format};
}

Prepared prepared_matmul(const LinearCall& call, const MatmulCode& code) {
  Prepared prepared;
  prepared.description = code.blocks != nullptr ? fmt::format("{}, widened to {}: {}, panels of {}", code.blocks->name,
                                                              name(code.operand), code.description, code.packing.width)
                                                : std::string(code.description) + ", " + to_string(code.packing);
  prepared.takes_rows = true;
  prepared.operand = code.operand == DType::u8 ? DType::s8 : code.operand;
  prepared.accumulator = code.accumulator;
  prepared.packing.resize(static_cast<std::size_t>(call.places.weight) + 1);
  prepared.packing.back() = code.packing;
  return prepared;
}

Offer prepare_matmul(const LinearCall& call, const MachineFacts& facts, const MatmulCode& code) {
  if (const char* why = unfit(call, code)) return Declined{why};
  choose_vector_target(facts);
  auto kernel = std::make_unique<Matmul>(call, code);
  Prepared prepared = prepared_matmul(call, code);
  prepared.workspace_bytes = kernel->workspace_bytes();
  prepared.kernel = std::move(kernel);
  return prepared;
}

}  // namespace assay::cpu
