#pragma once

#include <cstdint>
#include <filesystem>

namespace assay {

struct MemorySizes {
  std::int64_t total_bytes = 0;  ///< Of the machine.
  std::int64_t available_bytes =
      0;  ///< That this process can still take: free and reclaimable memory, within its cgroups and limits; at least 1.
};

/// Reads /proc/meminfo, the memory limits of this process's control groups (v1 and v2) and its own on address space and
/// data (RLIMIT_AS and RLIMIT_DATA, which `ulimit` sets). Zeros where nothing can be read.
MemorySizes read_memory(const std::filesystem::path& root);

}  // namespace assay
