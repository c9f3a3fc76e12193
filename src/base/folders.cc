#include "base/folders.h"

#include <cstdlib>

namespace assay {

std::optional<std::filesystem::path> find_user_folder(const char* variable, const char* below_home) {
  const char* xdg = std::getenv(variable);
  if (xdg != nullptr && xdg[0] == '/') return std::filesystem::path(xdg) / "assay";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') return std::nullopt;  // A relative one would be another folder everywhere.
  return std::filesystem::path(home) / below_home / "assay";
}

std::optional<std::filesystem::path> find_cache_folder() {
  return find_user_folder("XDG_CACHE_HOME", ".cache");
}

}  // namespace assay
