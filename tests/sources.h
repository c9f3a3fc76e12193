#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

/// A quoted `#include` of a source file.
struct Include {
  std::string path;  ///< As written between the quotes.
  int line = 0;
};

/// The files below `folder` of the project that belong to it, sorted: not .git, build/, .deps/ and other hidden
/// folders.
std::vector<std::filesystem::path> project_files(const std::filesystem::path& folder);

/// The whole text of a file. Throws std::runtime_error if it cannot be read.
std::string text_of(const std::filesystem::path& file);

/// The quoted includes of a C++ source text.
std::vector<Include> quoted_includes(const std::string& text);

/// The room of src/ that a path relative to src/ is in: its first folder, "" for a file outside every room.
std::string room_of(const std::filesystem::path& relative);

/// What is wrong with one include by a file of `room`: one sentence, or "" where nothing is.
std::string fault_of(const std::filesystem::path& src, const std::string& room, const Include& include);

}  // namespace assay
