#pragma once

#include <filesystem>
#include <optional>

namespace assay {

/// assay's folder of one kind, by the XDG base directory specification: below `variable` where that is an absolute
/// path, else below the home folder's `below_home`. Not created. Absent where neither is set.
std::optional<std::filesystem::path> find_user_folder(const char* variable, const char* below_home);

/// Folder for what can be fetched or measured again: $XDG_CACHE_HOME/assay, else ~/.cache/assay. Absent where neither
/// HOME nor XDG_CACHE_HOME is set: then nothing is cached.
std::optional<std::filesystem::path> find_cache_folder();

}  // namespace assay
