#pragma once

#include <unistd.h>

#include <filesystem>

#include "base/handle.h"

namespace assay {

// A folder for unfinished work, which goes with its owner. One whose process was killed stays: it carries a marker of
// ours and a lock that dies with the process, so that it can be told from a living one and from what is not ours.

struct Scratch {
  std::filesystem::path path;
  Handle<int, ::close, -1> lock;  ///< On the folder.
};
void remove_scratch(Scratch* scratch);
using ScratchHandle = Handle<Scratch*, remove_scratch>;

/// A new folder whose name begins with `prefix`. Throws a user error where it cannot be made, Error(lacking) on a full
/// disk.
ScratchHandle make_scratch(const std::filesystem::path& prefix);

/// Removes a folder that carries our marker, or is empty, and whose process is gone; leaves everything else.
void remove_if_abandoned(const std::filesystem::path& folder);

}  // namespace assay
