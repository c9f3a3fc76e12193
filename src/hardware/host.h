#pragma once

#include <filesystem>
#include <string>

namespace assay {

/// Which machine this is, beside what it is: what tells two of one kind apart.
struct HostFacts {
  std::string name;  ///< What the scheduler calls the node ($SLURMD_NODENAME), else its host name.
  /// 16 hexadecimal digits of a SHA-256 over the system's own id and the addresses of its network cards: the same from
  /// start to start, and of no use for finding either. Empty where there is neither, as in some containers.
  std::string id;
};
/// `root`: where etc, proc and sys are found; a recorded tree in tests. The scheduler is asked where it is "/".
HostFacts read_host(const std::filesystem::path& root);
/// The same of "/", read once.
const HostFacts& this_host();

}  // namespace assay
