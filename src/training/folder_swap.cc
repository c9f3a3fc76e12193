#include "training/folder_swap.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Without a final slash, so that a name can be added to.
fs::path plain(const fs::path& folder) {
  return folder.has_filename() ? folder : folder.parent_path();
}

std::string sibling_prefix(const fs::path& folder) {
  return plain(folder).filename().string() + ".tmp-";
}

fs::path parent_of(const fs::path& folder) {
  const fs::path parent = plain(folder).parent_path();
  return parent.empty() ? "." : parent;
}

bool is_abandoned(const std::string& name, const std::string& prefix) {
  if (!name.starts_with(prefix)) return false;
  pid_t process = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, process);
  return error == std::errc() && stop == end && process > 0 && ::kill(process, 0) != 0 && errno == ESRCH;
}

}  // namespace

fs::path make_sibling(const fs::path& folder) {
  const fs::path sibling = parent_of(folder) / (sibling_prefix(folder) + std::to_string(::getpid()));
  std::error_code error;
  fs::remove_all(sibling, error);
  if (!error) fs::create_directory(sibling, error);
  if (error) fail_user("{}: cannot be written: {}", folder.string(), error.message());
  return sibling;
}

void put_in_place(const fs::path& sibling, const fs::path& folder) {
  const fs::path target = plain(folder);
  std::error_code ignored;
  if (::renameat2(AT_FDCWD, sibling.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(sibling, ignored);
    return;
  }
  // Nothing stands there yet, or the file system exchanges no names.
  const fs::path old = sibling.string() + ".old";
  if (errno != ENOENT && ::rename(target.c_str(), old.c_str()) != 0)
    fail_user("{}: {}", folder.string(), std::strerror(errno));
  if (::rename(sibling.c_str(), target.c_str()) != 0) fail_user("{}: {}", folder.string(), std::strerror(errno));
  fs::remove_all(old, ignored);
}

void remove_abandoned(const fs::path& folder) {
  const std::string prefix = sibling_prefix(folder);
  std::error_code unreadable;
  std::vector<fs::path> abandoned;
  for (fs::directory_iterator at(parent_of(folder), unreadable), end; !unreadable && at != end;
       at.increment(unreadable)) {
    if (is_abandoned(at->path().filename().string(), prefix)) abandoned.push_back(at->path());
  }
  for (const fs::path& path : abandoned) fs::remove_all(path, unreadable);
}

}  // namespace assay
