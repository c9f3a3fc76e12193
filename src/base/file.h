#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "base/mapped_faults.h"
#include "base/write_file.h"

namespace assay {

/// A whole regular file mapped read-only. Stays valid when the object is moved. Where somebody cuts the file short
/// meanwhile, reading what is gone ends the process with a line (base/mapped_faults.h).
class MappedFile {
 public:
  /// Throws a user error that names the file where it cannot be opened, is not a regular file, or is empty; OutOfMemory
  /// where the system grants no addresses for it.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }
  const std::filesystem::path& path() const { return path_; }
  /// Tells the kernel that the pages of this range will not be read again soon, so that they stop counting as resident.
  void release_pages(std::span<const std::byte> range) const;

 private:
  MappedFile() = default;

  std::filesystem::path path_;
  void* address_ = nullptr;
  std::size_t size_ = 0;
  MappingWatch watch_;
};

/// The exact bytes of a regular file. Throws a user error that names the file where it cannot be read or holds more
/// than `max_bytes`.
std::string read_file(const std::filesystem::path& path, std::size_t max_bytes = std::size_t{1} << 30);
/// The same of standard input, whatever it is, to its end.
std::string read_standard_input(std::size_t max_bytes = std::size_t{1} << 30);

/// Hands a regular file's bytes to `sink` in pieces of at most 1 MiB. Throws a user error that names the file.
void read_pieces(const std::filesystem::path& path, const ByteSink& sink);

/// find_cache_folder() for what cannot do without: throws a user error where there is none.
std::filesystem::path cache_folder();

}  // namespace assay
