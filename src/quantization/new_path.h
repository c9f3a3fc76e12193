#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace assay {

/// What becomes of a model's folder or file that stands already where one is to be written.
enum class Existing : std::uint8_t { refused, overwritten };

/// Throws a user error where `path` cannot be made: something stands there that is not to be overwritten, or is more
/// than the files of a model; the folder around it is missing.
void check_new_path(const std::filesystem::path& path, Existing existing);

/// `write` fills the empty folder that it is handed, which then stands at `path`; of what it throws nothing stays. What
/// stood there stands there until then. Throws as check_new_path does, and what writing throws.
void write_new_folder(const std::filesystem::path& path, Existing existing,
                      const std::function<void(const std::filesystem::path&)>& write);

/// The same of one file, which `write` makes at the path that it is handed.
void write_new_file(const std::filesystem::path& path, Existing existing,
                    const std::function<void(const std::filesystem::path&)>& write);

}  // namespace assay
