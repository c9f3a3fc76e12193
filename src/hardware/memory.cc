#include "hardware/memory.h"

#include <algorithm>
#include <optional>

#include "hardware/cgroup.h"
#include "hardware/system_files.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct LimitFiles {
  const char* limit;
  const char* usage;
  const char* reclaimable;  // Key in memory.stat: file pages that the kernel gives back first.
};
constexpr LimitFiles limit_files[] = {{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
                                      {"memory.max", "memory.current", "inactive_file"}};

std::int64_t kilobytes(const std::string& meminfo, const char* key) {
  return parse_number(find_field(meminfo, key).value_or("0")).value_or(0) << 10;
}

/// Bytes that one control group still grants, if it sets a limit ("max" is no number and so no limit).
std::optional<std::int64_t> room_in(const fs::path& folder, const LimitFiles& files) {
  const auto limit = read_number(folder / files.limit);
  const auto usage = read_number(folder / files.usage);
  if (!limit || !usage) return std::nullopt;
  const std::string stat = read_text(folder / "memory.stat").value_or("");
  const std::int64_t reclaimable = parse_number(find_field(stat, files.reclaimable).value_or("0")).value_or(0);
  return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, *usage - reclaimable));
}

}  // namespace

MemorySizes read_memory(const fs::path& root) {
  const std::string meminfo = read_text(root / "proc/meminfo").value_or("");
  MemorySizes sizes{kilobytes(meminfo, "MemTotal"), kilobytes(meminfo, "MemAvailable")};
  if (!find_field(meminfo, "MemAvailable")) sizes.available_bytes = kilobytes(meminfo, "MemFree");
  const CgroupFolders groups = cgroup_folders(root, "memory");
  for (const fs::path& folder : groups.folders) {
    if (const auto room = room_in(folder, limit_files[groups.version - 1])) {
      sizes.available_bytes = std::min(sizes.available_bytes, *room);
    }
  }
  return sizes;
}

}  // namespace assay
