#include "hub/scratch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/descriptor.h"
#include "base/system_error.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* marker_name = ".assay-scratch";

/// Links are not followed: nothing outside may be taken for ours.
Descriptor open_folder(const fs::path& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool has_marker(const Descriptor& folder) {
  struct stat status {};
  return ::fstatat(folder.get(), marker_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

void remove_scratch(Scratch* scratch) {
  std::error_code ignored;  // Nothing more can be done about what stays.
  fs::remove_all(scratch->path, ignored);
  delete scratch;
}

ScratchHandle make_scratch(const fs::path& prefix) {
  std::string path = prefix.string() + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) fail_call(path, errno);
  ::chmod(path.c_str(), 0755);
  ScratchHandle scratch(new Scratch{path, open_folder(path)});
  const Descriptor& folder = scratch.get()->lock;
  // The lock comes first: marked and not locked means abandoned.
  if (!folder || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) fail_call(path, errno);
  if (!Descriptor(::openat(folder.get(), marker_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644))) {
    fail_call(path, errno);
  }
  return scratch;
}

void remove_if_abandoned(const fs::path& path) {
  const Descriptor folder = open_folder(path);
  if (!folder || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return;
  if (!has_marker(folder)) {
    ::rmdir(path.c_str());  // Where it is empty its owner ended before it could mark it.
    return;
  }
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

}  // namespace assay
