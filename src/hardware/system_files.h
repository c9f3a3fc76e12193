#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// What one attempt to read a file of procfs or sysfs gave.
struct SmallFile {
  std::string text;  ///< Without trailing white space, at most 1 MiB.
  int error = 0;     ///< errno of the attempt, 0 if it was read.
};

/// Reads a file whose size the file system does not tell. Never throws: what is missing is a fact like any other.
SmallFile read_small_file(const std::filesystem::path& path);
/// The text of such a file, if it could be read.
std::optional<std::string> read_text(const std::filesystem::path& path);
/// The whole number that such a file starts with.
std::optional<std::int64_t> read_number(const std::filesystem::path& path);

/// The value of "key: value" or "key value" in a text of such lines ("MemTotal:  24 kB" gives "24 kB").
std::optional<std::string> find_field(std::string_view text, std::string_view key);
std::optional<std::int64_t> parse_number(std::string_view text);
/// "0-3,8" as {0, 1, 2, 3, 8}; stops at the first thing that is no such list.
std::vector<int> parse_cpu_list(std::string_view text);

/// The entries of a folder by name, sorted; empty where there is no such folder.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);
/// A trimmed copy.
std::string trimmed(std::string_view text);

}  // namespace assay
