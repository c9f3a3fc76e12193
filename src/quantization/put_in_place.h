#pragma once

#include <filesystem>
#include <functional>

namespace assay {

/// A rename with renameat2's flags: 0, or the error's number.
using FlaggedRename = std::function<int(const std::filesystem::path& from, const std::filesystem::path& to, unsigned)>;
/// renameat2(2).
int rename_with_flags(const std::filesystem::path& from, const std::filesystem::path& to, unsigned flags);

/// What was made gets where it is to stand, as renameat2 does it with those flags: 0, RENAME_NOREPLACE or
/// RENAME_EXCHANGE. Where the file system or the kernel has none (EINVAL of NFS, ENOSYS), by calls that every one has,
/// so that nothing else is replaced either: a file is linked, a folder renamed, which takes an empty folder's place at
/// most. Throws what went wrong, after which `path` has what it had.
void put_in_place(const std::filesystem::path& made, const std::filesystem::path& path, unsigned flags,
                  const FlaggedRename& rename = rename_with_flags);

}  // namespace assay
