#include "quantization/put_in_place.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <string>

#include "base/paths.h"
#include "base/system_error.h"
#include "base/write_file.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr int without_flags[] = {EINVAL, ENOSYS, EOPNOTSUPP};

int error_of_call(int result) {
  return result == 0 ? 0 : errno;
}

int plain_rename(const fs::path& from, const fs::path& to) {
  return error_of_call(std::rename(from.c_str(), to.c_str()));
}

/// link(2) fails where something stands.
int rename_new_file(const fs::path& from, const fs::path& to) {
  if (const int error = error_of_call(::link(from.c_str(), to.c_str())); error != 0) return error;
  return error_of_call(::unlink(from.c_str()));
}

/// rename(2) of a folder fails where a file or a full folder stands, whenever that came.
int rename_new_folder(const fs::path& from, const fs::path& to) {
  return is_there(to) ? EEXIST : plain_rename(from, to);
}

/// In three steps: between the first two nothing stands at `to`.
int exchange(const fs::path& from, const fs::path& to) {
  const fs::path aside = from.string() + ".old";
  if (const int error = plain_rename(to, aside); error != 0) return error;
  if (const int error = plain_rename(from, to); error != 0) {
    plain_rename(aside, to);
    return error;
  }
  return plain_rename(aside, from);
}

int rename_in_steps(const fs::path& from, const fs::path& to, unsigned flags) {
  if (flags == RENAME_EXCHANGE) return exchange(from, to);
  if (flags == RENAME_NOREPLACE) return is_folder(from) ? rename_new_folder(from, to) : rename_new_file(from, to);
  return plain_rename(from, to);
}

}  // namespace

int rename_with_flags(const fs::path& from, const fs::path& to, unsigned flags) {
  return error_of_call(::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags));
}

void put_in_place(const fs::path& made, const fs::path& path, unsigned flags, const FlaggedRename& rename) {
  int error = rename(made, path, flags);
  if (std::ranges::find(without_flags, error) != std::end(without_flags)) error = rename_in_steps(made, path, flags);
  if (error != 0) fail_call(path.string() + ": cannot be written", error);
  sync_folder(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

}  // namespace assay
