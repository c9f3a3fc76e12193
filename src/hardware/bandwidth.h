#pragma once

#include <cstdint>

#include "hardware/facts.h"

namespace assay {

/// Read bandwidth from memory, GB/s (10^9 bytes a second).
struct Bandwidth {
  double one_core_gbs = 0;
  double all_cores_gbs = 0;
  std::int64_t buffer_bytes = 0;  ///< That was read over and over.
};

/// Bytes to read so that caches serve little of it: four times the last-level cache of these facts, at least 256 MiB,
/// at most a quarter of the memory that is available.
std::int64_t bandwidth_buffer_bytes(const MachineFacts& facts);

/// Reads a buffer of that size, in huge pages where the system gives them, again and again, 100 ms with one thread and
/// 100 ms with facts.threads, as concurrent_rate measures. Throws Error(lacking) where the buffer cannot be had.
Bandwidth measure_read_bandwidth(const MachineFacts& facts);

}  // namespace assay
