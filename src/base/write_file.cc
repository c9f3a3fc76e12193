#include "base/write_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <system_error>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/system_error.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

enum class Kind : std::uint8_t { absent, regular, stream, own_descriptor };

/// What a path leads to in the end.
struct Target {
  Kind kind = Kind::absent;
  fs::path path;          ///< Links followed.
  int descriptor = -1;    ///< kind own_descriptor: /dev/stdout, /dev/fd/63.
  struct stat status {};  ///< Where something is there.
  std::string name;       ///< As the user gave it, for errors.
};

[[noreturn]] void fail(const Target& target, const char* what, int error) {
  fail_call(target.name + ": " + what, error);
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// The number where a path is a name of an open descriptor of this process; else -1.
int own_descriptor(const fs::path& path) {
  std::error_code unknown;
  const fs::path folder = fs::canonical(folder_of(path), unknown);
  if (unknown || folder != fs::canonical("/proc/self/fd", unknown) || unknown) return -1;
  const std::string number = path.filename().string();
  if (number.empty() || number.size() > 9 || number.find_first_not_of("0123456789") != std::string::npos) return -1;
  return std::stoi(number);
}

/// Follows links by hand: the last name need not exist, and /proc/self/fd/1 must not be followed to a file's name.
Target target_of(const fs::path& path) {
  constexpr int most_links = 40;  // As the kernel.
  Target target{.path = path, .name = path.string()};
  for (int links = 0; links < most_links; ++links) {
    target.descriptor = own_descriptor(target.path);
    if (target.descriptor >= 0) {
      target.kind = Kind::own_descriptor;
      return target;
    }
    if (::lstat(target.path.c_str(), &target.status) != 0) {
      if (errno != ENOENT) fail(target, "cannot be written", errno);
      return target;
    }
    if (!S_ISLNK(target.status.st_mode)) {
      target.kind = S_ISREG(target.status.st_mode) ? Kind::regular : Kind::stream;
      return target;
    }
    std::error_code unreadable;
    const fs::path next = fs::read_symlink(target.path, unreadable);
    if (unreadable) fail(target, "cannot be written", unreadable.value());
    target.path = folder_of(target.path) / next;
  }
  fail(target, "cannot be written", ELOOP);
}

/// What cannot be written to, as far as it can be told without opening it.
void check_kind_and_permission(const Target& target) {
  if (target.kind == Kind::absent || target.kind == Kind::own_descriptor) return;
  if (S_ISDIR(target.status.st_mode)) fail_user("{}: is a folder, a file is to be written", target.name);
  if (S_ISSOCK(target.status.st_mode)) fail_user("{}: is a socket, a file is to be written", target.name);
  if (::access(target.path.c_str(), W_OK) != 0) fail(target, "cannot be written", errno);
}

std::string name_of_descriptor(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

/// Short and without the target's name, which may be as long as a name can be.
fs::path temporary_name(const fs::path& folder) {
  constexpr char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::string name = ".assay-";
  for (int i = 0; i < 10; ++i) name += letters[random() % 36];
  return folder / (name + ".tmp");
}

/// A new file in a folder. Where the file system can, it has no name until it is whole, and goes with the process.
class NewFile {
 public:
  explicit NewFile(const Target& target) : target_(target), folder_(folder_of(target.path)) {
    // A new one's mode is the umask's, which the kernel takes off; nobody else may look into what will get the mode of
    // an old one.
    const mode_t mode = target.kind == Kind::regular ? 0600 : 0666;
    file_ = Descriptor(::open(folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
    if (file_ && ::access(name_of_descriptor(file_.get()).c_str(), F_OK) == 0) return;
    name_ = temporary_name(folder_);
    file_ = Descriptor(::open(name_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode));
    if (file_) return;
    name_.clear();
    fail(target, "cannot be written", errno);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  int descriptor() const { return file_.get(); }

  void put_in_place() {
    keep_owner_and_mode();
    sync();
    if (name_.empty() && target_.kind == Kind::absent && link_to(target_.path)) return sync_folder(folder_);
    if (name_.empty()) give_name();
    if (::rename(name_.c_str(), target_.path.c_str()) != 0) fail(target_, "cannot be replaced", errno);
    name_.clear();
    sync_folder(folder_);
  }

 private:
  /// Of the file that is replaced. The owner stays where we may give files away; the mode always.
  void keep_owner_and_mode() const {
    if (target_.kind != Kind::regular) return;
    const bool is_given = ::fchown(file_.get(), target_.status.st_uid, target_.status.st_gid) == 0 ||
                          ::fchown(file_.get(), static_cast<uid_t>(-1), target_.status.st_gid) == 0;
    const mode_t all = is_given ? 0777 : 0707;  // Not what another group was let do.
    if (::fchmod(file_.get(), target_.status.st_mode & all) != 0) fail(target_, "cannot be written", errno);
  }

  void sync() const {
    if (::fsync(file_.get()) != 0 && errno != EINVAL) fail(target_, "cannot be saved", errno);
  }

  bool link_to(const fs::path& path) const {
    return ::linkat(AT_FDCWD, name_of_descriptor(file_.get()).c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }

  void give_name() {
    name_ = temporary_name(folder_);  // Before there is such a file: nothing may fail between the two.
    if (!link_to(name_)) fail(target_, "cannot be written", errno);
  }

  const Target& target_;
  fs::path folder_;
  fs::path name_;  ///< Empty: it has none.
  Descriptor file_;
};

/// Nobody may be reading from a pipe yet, or ever.
Descriptor open_stream(const Target& target) {
  constexpr double patience_s = 10;
  const double begin_s = now_s();
  while (true) {
    Descriptor stream(::open(target.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    const int error = errno;
    if (stream) {
      ::fcntl(stream.get(), F_SETFL, 0);
      return stream;
    }
    const bool lacks_reader = error == ENXIO && S_ISFIFO(target.status.st_mode);
    if (!lacks_reader) fail(target, "cannot be written", error);
    if (now_s() - begin_s > patience_s) fail_user("{}: no program has read from this pipe for 10 s", target.name);
    ::poll(nullptr, 0, 20);
  }
}

Descriptor open_to_write(const Target& target) {
  if (target.kind == Kind::stream) return open_stream(target);
  Descriptor copy(::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 0));
  if (!copy) fail(target, "cannot be written", errno);
  if ((::fcntl(copy.get(), F_GETFL) & O_ACCMODE) == O_RDONLY) fail(target, "cannot be written", EBADF);
  return copy;
}

/// Whether a path is a name of an open descriptor, /dev/stdout or so.
bool is_descriptor(const fs::path& path) {
  try {
    return target_of(path).kind == Kind::own_descriptor;
  } catch (const Error&) {
    return false;
  }
}

/// Where a path leads, whether or not something is there; empty where that cannot be told.
fs::path place_of(const fs::path& path) {
  try {
    std::error_code unknown;
    const fs::path place = fs::weakly_canonical(fs::absolute(target_of(path).path, unknown), unknown);
    return unknown ? fs::path() : place;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void write_all(int descriptor, std::span<const std::byte> content, const std::string& subject) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written >= 0) {
      content = content.subspan(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // Somebody else made it non-blocking.
      pollfd waiting{descriptor, POLLOUT, 0};
      ::poll(&waiting, 1, -1);
    } else if (errno != EINTR) {
      fail_call(subject, errno);
    }
  }
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  write_file_atomically(path, [&](const ByteSink& sink) { sink(std::as_bytes(std::span(content))); });
}

void write_file_atomically(const fs::path& path, const std::function<void(const ByteSink&)>& produce) {
  const Target target = target_of(path);
  check_kind_and_permission(target);
  const auto sink_to = [&](int descriptor) {
    return [&target, descriptor](std::span<const std::byte> piece) { write_all(descriptor, piece, target.name); };
  };
  if (target.kind == Kind::stream || target.kind == Kind::own_descriptor) {
    const Descriptor stream = open_to_write(target);
    produce(sink_to(stream.get()));
    return;
  }
  NewFile file(target);
  produce(sink_to(file.descriptor()));
  file.put_in_place();
}

void check_writable(const fs::path& path) {
  const Target target = target_of(path);
  check_kind_and_permission(target);
  if (target.kind == Kind::own_descriptor) open_to_write(target);
  if (target.kind == Kind::absent || target.kind == Kind::regular) const NewFile probe(target);
}

bool is_file_of(int descriptor, const fs::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && S_ISREG(named.st_mode) &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino && !is_descriptor(path);
}

bool is_same_file(const fs::path& one, const fs::path& other) {
  struct stat a {};
  struct stat b {};
  if (is_descriptor(one) || is_descriptor(other)) return false;  // Written to one behind the other.
  const bool both_exist = ::stat(one.c_str(), &a) == 0 && ::stat(other.c_str(), &b) == 0;
  if (both_exist) return S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  const fs::path place = place_of(one);
  return !place.empty() && place == place_of(other);
}

void sync_folder(const fs::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return;  // May be written but not read: then nobody can.
  if (::fsync(opened.get()) != 0 && errno != EINVAL) fail_call(folder.string() + ": cannot be saved", errno);
}

}  // namespace assay
