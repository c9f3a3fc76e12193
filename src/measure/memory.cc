#include "measure/memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/handle.h"

namespace assay {

std::optional<ResidentMemory> read_resident_memory(const std::filesystem::path& root) {
  std::ifstream file(root / "proc/self/status");
  std::optional<std::int64_t> now_kib;
  std::optional<std::int64_t> peak_kib;
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("VmRSS:")) now_kib = std::strtoll(line.c_str() + 6, nullptr, 10);
    if (line.starts_with("VmHWM:")) peak_kib = std::strtoll(line.c_str() + 6, nullptr, 10);
  }
  if (!now_kib || !peak_kib) return std::nullopt;
  return ResidentMemory{*now_kib * 1024, *peak_kib * 1024};
}

PeakReset reset_peak_memory(const std::filesystem::path& root) {
  // 5 resets the high-water mark and nothing else (proc(5)).
  const Handle<int, close, -1> file(open((root / "proc/self/clear_refs").c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return PeakReset::refused;
  return write(file.get(), "5", 1) == 1 ? PeakReset::done : PeakReset::refused;
}

}  // namespace assay
