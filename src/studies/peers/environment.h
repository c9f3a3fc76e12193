#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "studies/peers/peer_table.h"
#include "studies/shared/surroundings.h"

namespace assay {

// Environments of peers: folders named by what they hold, "pytorch-3f9a01c2", below peers/ of the cache folder. One is
// there whole or not at all: it is made under another name, which its last step changes. While one is made or removed a
// lock keeps other processes out.

/// `root` where it is given, else peers/ of the cache folder. Throws a user error where there is none.
std::filesystem::path peers_folder(const std::filesystem::path& root = {});
/// Where that environment is, or would be, of this Python and these packages.
std::filesystem::path environment_folder(const PeerEnvironment& environment, const std::filesystem::path& root);
/// With what it stands on, and not damaged.
bool is_installed(const PeerEnvironment& environment, const std::filesystem::path& root);
/// Whether it was made and has lost its Python since: by hand, or as the system's went.
bool is_damaged(const PeerEnvironment& environment, const std::filesystem::path& root);
/// Its Python.
std::filesystem::path environment_python(const PeerEnvironment& environment, const std::filesystem::path& root);

/// What makes an environment.
struct EnvironmentTools {
  std::string python = "python3";  ///< A stand-in in tests.
  double most_s = 3600;            ///< That one step may say nothing.
};

/// Makes it, and the one that it stands on first, where they are not there or damaged: by venv and pip, whose lines are
/// the progress. Throws Error(lacking) with pip's last line where that fails, Error(interrupted) at Ctrl-C; then
/// nothing of it stays.
void install_environment(const PeerEnvironment& environment, const std::filesystem::path& root,
                         const StudyCallbacks& callbacks, const EnvironmentTools& tools = {});

/// What was removed.
struct RemovedEnvironments {
  std::vector<std::string> names;  ///< Of folders.
  std::int64_t bytes = 0;
};
/// Removes the environment of that peer with those that stand on it, of whatever versions; an empty name: all of them.
/// Only folders that this program made. Throws as find_peer does.
RemovedEnvironments remove_environments(const std::string& peer, const std::filesystem::path& root);

/// Bytes of the files in an environment; 0 where it is not there.
std::int64_t environment_bytes(const PeerEnvironment& environment, const std::filesystem::path& root);

}  // namespace assay
