#pragma once

#include <filesystem>
#include <string_view>

namespace assay {

// What a path that a user gave leads to. The standard library's own functions throw exceptions of their own where that
// cannot be told: these throw the user error that names the path (a name too long, links in a circle, a folder that
// lets nobody in).

/// Whether anything stands there, a link that leads nowhere included: reading it then says what is wrong with it.
bool is_there(const std::filesystem::path& path);
/// Whether it leads to a folder, through links.
bool is_folder(const std::filesystem::path& path);

/// Whether its name has the ending, ".gguf", in letters of any case.
bool has_ending(const std::filesystem::path& path, std::string_view ending);

/// Where temporary files go: $TMPDIR, else /tmp. Throws a user error where TMPDIR names no folder.
std::filesystem::path temporary_folder();

}  // namespace assay
