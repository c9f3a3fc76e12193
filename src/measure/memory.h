#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace assay {

/// Memory of a process that lies in physical pages, shared pages (mapped files) included.
struct ResidentMemory {
  std::int64_t bytes = 0;       ///< Now (VmRSS).
  std::int64_t peak_bytes = 0;  ///< The most so far (VmHWM).
};

/// From `root`/proc/self/status, or that of another process by its number; absent where that is not readable or does
/// not say.
std::optional<ResidentMemory> read_resident_memory(const std::filesystem::path& root = "/",
                                                   const std::string& process = "self");

/// Has the kernel count peak_bytes from now on (clear_refs; proc(5)). Where it cannot, the peak stays.
void reset_peak_memory();

}  // namespace assay
