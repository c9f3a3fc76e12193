#include "base/folders.h"

#include <cstdlib>

#include "base/error.h"

namespace assay {

std::filesystem::path user_folder(const char* variable, const char* below_home) {
  const char* xdg = std::getenv(variable);
  if (xdg != nullptr && xdg[0] == '/') return std::filesystem::path(xdg) / "assay";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] == '\0') fail_user("HOME: is not set, and neither is {}", variable);
  return std::filesystem::path(home) / below_home / "assay";
}

}  // namespace assay
