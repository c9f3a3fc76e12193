#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/folders.h"
#include "base/system_error.h"

namespace assay {
namespace {

/// Opens a regular file for reading; O_NONBLOCK so that a FIFO in its place cannot hang us.
Descriptor open_regular(const std::filesystem::path& path, std::size_t& size) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) fail_call(path.string(), errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_call(path.string(), errno);
  if (S_ISDIR(status.st_mode)) fail_user("{}: is a folder, a file is needed", path.string());
  if (!S_ISREG(status.st_mode)) fail_user("{}: is not a regular file", path.string());
  size = static_cast<std::size_t>(status.st_size);
  return file;
}

/// Up to `size` bytes; 0 at the end of the file.
std::size_t read_some(int descriptor, void* to, std::size_t size, const std::filesystem::path& path) {
  while (true) {
    const ssize_t got = ::read(descriptor, to, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) fail_call(path.string(), errno);
  }
}

}  // namespace

/// Made empty first, so that what fails behind the mapping finds a whole object to destroy.
MappedFile::MappedFile(const std::filesystem::path& path) : MappedFile() {
  path_ = path;
  const Descriptor file = open_regular(path, size_);
  if (size_ == 0) fail_user("{}: is empty", path.string());
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED && errno == ENOMEM) fail_memory(path.string() + ": cannot be mapped", size_);
  if (address == MAP_FAILED) fail_call(path.string() + ": cannot be mapped", errno);
  address_ = address;
  watch_ = watch_mapping(address_, size_, path_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      address_(std::exchange(other.address_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      watch_(std::move(other.watch_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  std::swap(watch_, other.watch_);
  return *this;
}

MappedFile::~MappedFile() {
  watch_ = MappingWatch();
  if (address_ != nullptr) ::munmap(address_, size_);
}

void MappedFile::release_pages(std::span<const std::byte> range) const {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(range.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(range.data() + range.size()) / page * page;
  if (end > begin) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

std::string read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  std::size_t size = 0;
  const Descriptor file = open_regular(path, size);
  if (size > max_bytes) fail_user("{}: has {} bytes, at most {} are read", path.string(), size, max_bytes);
  std::string content(size, '\0');
  std::size_t filled = 0;
  while (filled < size) {
    const std::size_t got = read_some(file.get(), content.data() + filled, size - filled, path);
    if (got == 0) break;
    filled += got;
  }
  content.resize(filled);
  return content;
}

std::string read_standard_input(std::size_t max_bytes) {
  const std::filesystem::path name = "standard input";
  std::string content;
  std::string piece(std::size_t{1} << 16, '\0');
  while (const std::size_t got = read_some(STDIN_FILENO, piece.data(), piece.size(), name)) {
    content.append(piece, 0, got);
    if (content.size() > max_bytes) fail_user("{}: at most {} bytes are read", name.string(), max_bytes);
  }
  return content;
}

void read_pieces(const std::filesystem::path& path, const ByteSink& sink) {
  std::size_t size = 0;
  const Descriptor file = open_regular(path, size);
  std::vector<std::byte> piece(std::size_t{1} << 20);
  while (const std::size_t got = read_some(file.get(), piece.data(), piece.size(), path)) {
    sink(std::span(piece).first(got));
  }
}

std::filesystem::path cache_folder() {
  const std::optional<std::filesystem::path> folder = find_cache_folder();
  if (!folder) fail_user("HOME: is not set, and neither is XDG_CACHE_HOME, which names the folder for models");
  return *folder;
}

}  // namespace assay
