#include "base/paths.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

#include "base/error.h"
#include "base/lower_case.h"
#include "base/system_error.h"

namespace assay {
namespace {

/// Of a call of the stat family: whether it found something.
bool has_found(int result, const std::filesystem::path& path) {
  if (result == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  fail_call(path.string(), errno);
}

}  // namespace

bool is_there(const std::filesystem::path& path) {
  struct stat status {};
  return has_found(::lstat(path.c_str(), &status), path);
}

bool is_folder(const std::filesystem::path& path) {
  struct stat status {};
  return has_found(::stat(path.c_str(), &status), path) && S_ISDIR(status.st_mode);
}

bool has_ending(const std::filesystem::path& path, std::string_view ending) {
  return lower_case(path.extension().string()) == ending;
}

std::filesystem::path temporary_folder() {
  const char* named = std::getenv("TMPDIR");
  if (named == nullptr || *named == '\0') return "/tmp";
  if (!is_folder(named)) fail_user("TMPDIR: {} is no folder", named);
  return named;
}

}  // namespace assay
