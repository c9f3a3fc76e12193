#include "hardware/cgroup.h"

#include <optional>
#include <sstream>
#include <system_error>

#include "hardware/system_files.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The third field of the line of /proc/self/cgroup ("4:cpu,cpuacct:/user.slice") that carries the controller; an empty
/// controller asks for version 2's line ("0::/...").
std::optional<std::string> group_of(const std::string& lines, const std::string& controller) {
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers.find("," + controller + ",") != std::string::npos) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// Inside a container the group's own path is often not mounted: then only the top of the mount is seen, which is the
/// container's group.
std::vector<fs::path> folders_up(const fs::path& mount, const std::string& group) {
  std::vector<fs::path> folders;
  std::error_code error;
  fs::path inside = fs::path(group).relative_path().lexically_normal();
  for (; !inside.empty() && inside != "."; inside = inside.parent_path()) {
    if (*inside.begin() != ".." && fs::is_directory(mount / inside, error)) folders.push_back(mount / inside);
  }
  folders.push_back(mount);
  return folders;
}

}  // namespace

CgroupFolders cgroup_folders(const fs::path& root, const std::string& controller) {
  const std::string lines = read_text(root / "proc/self/cgroup").value_or("");
  const fs::path mounts = root / "sys/fs/cgroup";
  if (const auto group = group_of(lines, controller)) return {1, folders_up(mounts / controller, *group)};
  const auto group = group_of(lines, "");
  if (!group) return {};
  std::error_code error;
  const bool hybrid = fs::is_directory(mounts / "unified", error);
  return {2, folders_up(hybrid ? mounts / "unified" : mounts, *group)};
}

}  // namespace assay
