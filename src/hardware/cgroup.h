#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

/// Folders of the control groups that bind this process for one controller ("memory", "cpu"), innermost first, the top
/// of the mounted tree last. Version 1 where the controller has a hierarchy of its own, else version 2.
struct CgroupFolders {
  int version = 2;
  std::vector<std::filesystem::path> folders;
};
CgroupFolders cgroup_folders(const std::filesystem::path& root, const std::string& controller);

}  // namespace assay
