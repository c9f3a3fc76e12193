#include "kernels/cpu/matmul_tasks.h"

#include <algorithm>

#include "kernels/cpu/blocking.h"

namespace assay::cpu {
namespace {

/// Share of the threads' time that equal tasks fill.
double balance(std::int64_t tasks, int threads) {
  return static_cast<double>(tasks) / static_cast<double>(ceil_div(tasks, threads) * threads);
}

/// Tasks that suffice: a thread whose core others use leaves the rest with little to wait for. Loops that take many
/// rows at once are so fast that reading panels again would cost more, and each task decodes its blocks anew.
std::int64_t enough_tasks(const LinearCall& call, const MatmulCode& code) {
  const int each = code.blocks != nullptr ? 4 : 10;
  return call.threads > 1 && code.block_rows <= micro::vector_rows ? each * call.threads : 1;
}

/// Panels that pass by one chunk of rows before the next chunk is read. One where all of K is a single chunk.
std::int64_t panels_together(const LinearCall& call, const MatmulCode& code, std::int64_t chunk,
                             std::int64_t row_tasks) {
  constexpr std::int64_t most = 8;  // their sums, 128 bytes a row and panel, stay in the second cache
  const std::int64_t panels = ceil_div(call.out, micro::panel_width);
  if (call.in <= chunk) return 1;
  const std::int64_t few_enough = std::min(panels / (2 * call.threads), panels * row_tasks / enough_tasks(call, code));
  return std::clamp<std::int64_t>(few_enough, 1, most);
}

}  // namespace

std::int64_t chunk_of(const LinearCall& call, const MatmulCode& code) {
  constexpr std::int64_t few_rows_chunk = 64;
  const std::int64_t in = std::max<std::int64_t>(call.in, 1);
  if (code.accumulator == DType::f16) return code.chunk;
  const std::int64_t unit = code.blocks != nullptr ? std::max(few_rows_chunk, code.blocks->elements) : few_rows_chunk;
  if (code.widens() && call.rows <= 2 * code.block_rows) return std::min(unit, code.chunk);
  return std::min(code.chunk, round_up(ceil_div(in, ceil_div(in, code.chunk)), unit));
}

Tasks divide(const LinearCall& call, const MatmulCode& code, std::int64_t chunk) {
  constexpr std::int64_t second_cache_share = 512 * 1024;
  constexpr std::int64_t most_rows = 256;
  constexpr double even_enough = 0.96;
  const std::int64_t rows = std::max<std::int64_t>(call.rows, 1);
  const std::int64_t chunk_row_bytes = std::max<std::int64_t>(std::min(call.in, chunk) * code.operand_bytes(), 1);
  const std::int64_t fit = std::clamp<std::int64_t>(second_cache_share / chunk_row_bytes, code.block_rows, most_rows);
  Tasks best;
  for (std::int64_t cuts = ceil_div(rows, fit); cuts <= ceil_div(rows, code.block_rows); ++cuts) {
    Tasks tasks;
    tasks.task_rows = round_up(ceil_div(rows, cuts), code.block_rows);
    tasks.row_tasks = ceil_div(rows, tasks.task_rows);
    tasks.task_panels = panels_together(call, code, chunk, tasks.row_tasks);
    tasks.panel_tasks = ceil_div(ceil_div(call.out, micro::panel_width), tasks.task_panels);
    const double gain =
        balance(tasks.count(), call.threads) - balance(std::max<std::int64_t>(best.count(), 1), call.threads);
    const bool finer = gain >= 0 && best.count() < enough_tasks(call, code);
    if (best.task_rows == 0 || gain > 0.02 || finer) best = tasks;
    if (balance(best.count(), call.threads) >= even_enough && best.count() >= enough_tasks(call, code)) break;
  }
  return best;
}

}  // namespace assay::cpu
