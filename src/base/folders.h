#pragma once

#include <filesystem>

namespace assay {

/// assay's folder of one kind, by the XDG base directory specification: below `variable` where that is an absolute
/// path, else below the home folder's `below_home`. Not created. Throws a user error where neither is set.
std::filesystem::path user_folder(const char* variable, const char* below_home);

}  // namespace assay
