#include "hardware/bandwidth.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "hardware/concurrent_rate.h"
#include "tensor/slabs.h"

namespace assay {
namespace {

constexpr std::int64_t line_bytes = 64;
constexpr std::int64_t least_bytes = std::int64_t{256} << 20;
constexpr double reading_budget_s = 0.1;
constexpr std::int64_t piece_lines = (std::int64_t{8} << 20) / line_bytes;  // About 1 ms at 10 GB/s.

/// Loads every byte of whole lines and drops it. Assembly: a load whose result nobody uses is one an optimiser removes.
/// 16-byte loads suffice: from memory, lines in flight are what binds, not the width of a load.
void read_lines(const std::byte* from, std::int64_t lines) {
  if (lines <= 0) return;
  asm volatile(
      "1:\n\t"
      "movaps (%0), %%xmm0\n\tmovaps 16(%0), %%xmm1\n\tmovaps 32(%0), %%xmm2\n\tmovaps 48(%0), %%xmm3\n\t"
      "add $64, %0\n\t"
      "dec %1\n\t"
      "jnz 1b\n\t"
      : "+r"(from), "+r"(lines)
      :
      : "xmm0", "xmm1", "xmm2", "xmm3", "cc", "memory");
}

/// A thread's own part of the buffer and how far it has read, alone on its cache line.
struct alignas(64) Part {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t next = 0;
};

std::vector<Part> split(std::int64_t lines, int threads) {
  std::vector<Part> parts;
  for (std::int64_t i = 0; i < threads; ++i) {
    const std::int64_t begin = lines * i / threads;
    parts.push_back({begin, lines * (i + 1) / threads, begin});
  }
  return parts;
}

/// Reads the next piece of a part, starting over at its end; bytes.
double read_piece(const std::byte* buffer, Part& part) {
  if (part.next >= part.end) part.next = part.begin;
  const std::int64_t lines = std::min(piece_lines, part.end - part.next);
  read_lines(buffer + part.next * line_bytes, lines);
  part.next += lines;
  return static_cast<double>(lines * line_bytes);
}

double measure_gbs(const std::byte* buffer, std::int64_t lines, int threads) {
  std::vector<Part> parts = split(lines, threads);
  const Window window = [&](int thread) { return read_piece(buffer, parts[static_cast<std::size_t>(thread)]); };
  return concurrent_rate(threads, reading_budget_s, window) * 1e-9;
}

/// Each thread touches the part that it will read, so that on a machine of several nodes it lies close.
void touch(std::byte* buffer, std::int64_t lines, int threads) {
  const std::vector<Part> parts = split(lines, threads);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (const Part& part : parts) {
    std::memset(buffer + part.begin * line_bytes, 1, static_cast<std::size_t>((part.end - part.begin) * line_bytes));
  }
}

}  // namespace

std::int64_t bandwidth_buffer_bytes(const MachineFacts& facts) {
  std::int64_t last_level = 0;
  for (const Cache& cache : facts.caches) last_level = std::max(last_level, cache.bytes);
  const std::int64_t wanted = std::max(4 * last_level, least_bytes);
  return std::max(line_bytes, std::min(wanted, facts.available_bytes / 4) / line_bytes * line_bytes);
}

Bandwidth measure_read_bandwidth(const MachineFacts& facts) {
  Bandwidth bandwidth{.buffer_bytes = bandwidth_buffer_bytes(facts)};
  const std::int64_t lines = bandwidth.buffer_bytes / line_bytes;
  Slabs slabs;  // as an instance keeps its weights: with small pages, reading is slower by the misses of the TLB
  std::byte* const buffer = slabs.take(static_cast<std::size_t>(bandwidth.buffer_bytes));
  touch(buffer, lines, facts.threads);
  bandwidth.one_core_gbs = measure_gbs(buffer, lines, 1);
  bandwidth.all_cores_gbs = measure_gbs(buffer, lines, facts.threads);
  return bandwidth;
}

}  // namespace assay
