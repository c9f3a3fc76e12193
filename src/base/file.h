#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace assay {

/// A whole regular file mapped read-only. Stays valid when the object is moved.
class MappedFile {
 public:
  /// Throws a user error that names the file where it cannot be opened, is not a regular file, or is empty.
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
  std::filesystem::path path_;
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

/// The exact bytes of a regular file. Throws a user error that names the file where it cannot be read or holds more
/// than `max_bytes`.
std::string read_file(const std::filesystem::path& path, std::size_t max_bytes = std::size_t{1} << 30);

/// Receives the bytes of a file in order, a piece at a time.
using ByteSink = std::function<void(std::span<const std::byte>)>;

/// Hands a regular file's bytes to `sink` in pieces of at most 1 MiB. Throws a user error that names the file.
void read_pieces(const std::filesystem::path& path, const ByteSink& sink);

/// Writes under a temporary name in the same folder and renames: the file is there whole, or as it was before.
/// Throws a user error that names the file.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);
/// The same for content too big to hold at once: `produce` hands the pieces to the sink that it is given. What it
/// throws passes through, and the file stays as it was.
void write_file_atomically(const std::filesystem::path& path, const std::function<void(const ByteSink&)>& produce);

/// Throws a user error that names the file where it could not be written: its folder is missing or refuses, or a folder
/// stands in its place. Leaves nothing behind.
void check_writable(const std::filesystem::path& path);

/// Folder for what can be fetched again: $XDG_CACHE_HOME/assay, else ~/.cache/assay. Not created.
std::filesystem::path cache_folder();

}  // namespace assay
