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
  return *limit - std::max<std::int64_t>(0, *usage - reclaimable);
}

/// A limit that `ulimit` sets on this process, and the line of /proc/self/status that says what of it is used.
struct ProcessLimit {
  const char* limit;
  const char* usage;
};
constexpr ProcessLimit process_limits[] = {{"Max address space", "VmSize"}, {"Max data size", "VmData"}};

/// Bytes that it still grants; absent where it is "unlimited".
std::optional<std::int64_t> room_in(const std::string& limits, const std::string& status, const ProcessLimit& one) {
  const std::optional<std::int64_t> soft = parse_number(find_field(limits, one.limit).value_or(""));
  if (!soft || !find_field(status, one.usage)) return std::nullopt;
  return *soft - kilobytes(status, one.usage);
}

void lower(MemorySizes& sizes, std::optional<std::int64_t> room) {
  constexpr std::int64_t nothing = 1;  // 0 says that nobody knows.
  if (room) sizes.available_bytes = std::min(sizes.available_bytes, std::max(nothing, *room));
}

}  // namespace

MemorySizes read_memory(const fs::path& root) {
  const std::string meminfo = read_text(root / "proc/meminfo").value_or("");
  MemorySizes sizes{kilobytes(meminfo, "MemTotal"), kilobytes(meminfo, "MemAvailable")};
  if (!find_field(meminfo, "MemAvailable")) sizes.available_bytes = kilobytes(meminfo, "MemFree");
  const CgroupFolders groups = cgroup_folders(root, "memory");
  for (const fs::path& folder : groups.folders) {
    lower(sizes, room_in(folder, limit_files[groups.version - 1]));
  }
  const std::string limits = read_text(root / "proc/self/limits").value_or("");
  const std::string status = read_text(root / "proc/self/status").value_or("");
  for (const ProcessLimit& one : process_limits) lower(sizes, room_in(limits, status, one));
  return sizes;
}

}  // namespace assay
