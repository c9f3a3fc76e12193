#include "measure/memory.h"

#include <cstdlib>
#include <fstream>
#include <string>

namespace assay {

std::optional<ResidentMemory> read_resident_memory(const std::filesystem::path& root, const std::string& process) {
  std::ifstream file(root / "proc" / process / "status");
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

void reset_peak_memory() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace assay
