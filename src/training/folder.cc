#include "training/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/system_error.h"
#include "model/lora.h"
#include "model/published_files.h"
#include "training/manifest.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* saving_folder = ".saving";
constexpr const char* saved_folder = ".saved";
/// Says whose a folder is. Made and removed in one system call, so that it needs no content.
constexpr const char* marker_file = "written-by-assay";

[[noreturn]] void fail_to_write(const fs::path& path, int error) {
  fail_call(path.string() + ": cannot be written", error);
}

void require(int result, const fs::path& path) {
  if (result != 0) fail_to_write(path, errno);
}

fs::file_type type_of(const fs::path& path) {
  std::error_code unreadable;
  return fs::symlink_status(path, unreadable).type();
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    entries.push_back(at->path());
  if (error) fail_call(folder.string(), error.value());
  return entries;
}

/// Whether the folder is there; refuses one that is not ours.
bool finds_ours(const fs::path& folder) {
  if (!is_there(folder)) return false;
  if (type_of(folder) == fs::file_type::directory) {
    if (type_of(folder / marker_file) == fs::file_type::regular || entries_of(folder).empty()) return true;
  }
  fail_user("{}: is not of assay, which writes its checkpoints under that name; move it away", folder.string());
}

/// The marker goes last, so that a removal that is cut short leaves a folder that is known as ours.
void remove_ours(const fs::path& folder) {
  for (const fs::path& entry : entries_of(folder)) {
    if (entry.filename() != marker_file) require(::unlink(entry.c_str()), entry);
  }
  const fs::path marker = folder / marker_file;
  if (is_there(marker)) require(::unlink(marker.c_str()), marker);
  require(::rmdir(folder.c_str()), folder);
}

/// Behind a failure, which is the one to be told; what stays is discarded by the next training.
void discard_quietly(const fs::path& folder) {
  try {
    remove_ours(folder);
  } catch (const Error&) {
  }
}

void make_ours(const fs::path& folder) {
  require(::mkdir(folder.c_str(), 0777), folder);
  const fs::path marker = folder / marker_file;
  const Descriptor made(::open(marker.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  const int error = errno;
  if (made) return;
  ::rmdir(folder.c_str());
  fail_to_write(marker, error);
}

bool is_same_content(const fs::path& one, const fs::path& other) {
  return type_of(other) == fs::file_type::regular && read_file(one) == read_file(other);
}

bool is_support_new(const fs::path& saved, const fs::path& folder) {
  return std::any_of(std::begin(support_files), std::end(support_files), [&](const char* name) {
    return is_there(saved / name) && !is_same_content(saved / name, folder / name);
  });
}

/// What the folder's own manifest says; none where it has none or a damaged one.
std::optional<Manifest> manifest_before(const fs::path& folder) {
  try {
    return read_manifest(folder);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Files of the checkpoint before that the new one lacks: they would be taken for its own. A file that no manifest
/// names is the user's, but where there was none: then the files are those of the model before, if this is another one.
std::vector<fs::path> stale_files(const fs::path& saved, const fs::path& folder) {
  std::vector<fs::path> stale;
  const std::optional<Manifest> now = read_manifest(saved);
  if (!now) return stale;
  const std::optional<Manifest> before = manifest_before(folder);
  const fs::path config = saved / "config.json";
  const bool is_other_model = is_there(config) && !is_same_content(config, folder / "config.json");
  std::vector<const char*> names(std::begin(support_files), std::end(support_files));
  names.insert(names.end(), {adapter_config_file, weights_file, adapter_weights_file});
  for (const char* name : names) {
    const bool was_ours = before ? before->files.count(name) != 0 : is_other_model;
    if (was_ours && now->files.count(name) == 0 && is_there(folder / name)) stale.push_back(folder / name);
  }
  return stale;
}

void take_away(const fs::path& file) {
  if (::unlink(file.c_str()) != 0 && errno != ENOENT) fail_to_write(file, errno);
}

void move_into_place(const fs::path& saved, const fs::path& folder, const char* name) {
  if (is_there(saved / name)) require(::rename((saved / name).c_str(), (folder / name).c_str()), folder / name);
}

/// From any state that a kill can leave between its system calls it goes on to the same end.
void put_in_place(const fs::path& saved, const fs::path& folder) {
  const std::vector<fs::path> stale = stale_files(saved, folder);
  const bool model_is_to_come = is_there(saved / weights_file);
  if (model_is_to_come && (!stale.empty() || is_support_new(saved, folder))) {
    take_away(folder / weights_file);
    sync_folder(folder);
  }
  const bool has_adapters = is_there(saved / adapter_weights_file) && is_there(saved / adapter_config_file);
  if (has_adapters && !is_same_content(saved / adapter_config_file, folder / adapter_config_file)) {
    take_away(folder / adapter_weights_file);
    sync_folder(folder);
  }
  for (const fs::path& file : stale) take_away(file);
  for (const char* name : support_files) move_into_place(saved, folder, name);
  for (const char* name :
       {adapter_config_file, weights_file, adapter_weights_file, moments_file, progress_file, manifest_file})
    move_into_place(saved, folder, name);
  sync_folder(folder);
  remove_ours(saved);
  sync_folder(folder);
}

/// Of a checkpoint whose files are on their way to their places. The manifest goes last: behind it only the marker is
/// left.
void check_what_is_left(const fs::path& saved) {
  const std::optional<Manifest> manifest = read_manifest(saved);
  if (manifest) return check_files(*manifest, saved, Missing::allowed);
  for (const fs::path& entry : entries_of(saved)) {
    if (entry.filename() != marker_file)
      fail_user("{}: holds '{}' and no manifest; move it away", saved.string(), entry.filename().string());
  }
}

bool names_format(const fs::path& file, std::string_view beginning) {
  std::error_code unreadable;
  if (!fs::is_regular_file(file, unreadable)) return false;
  try {
    const Json json = parse_json(read_file(file), file.string());
    const Json format = json.is_object() ? json.value("format", Json()) : Json();
    return format.is_string() && format.get<std::string>().starts_with(beginning);
  } catch (const Error&) {
    return false;
  }
}

/// Whether the open folder is still the one of that name: who held it before may have removed it.
bool is_still_there(int descriptor, const fs::path& folder) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(descriptor, &opened) == 0 && ::stat(folder.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

bool knows_no_locks(int error) {
  return error == EBADF || error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS || error == EINVAL;
}

}  // namespace

FolderClaim::FolderClaim(const fs::path& folder, std::vector<std::string>& notes) : folder_(folder) {
  constexpr int most_tries = 100;
  for (int tries = 0; tries < most_tries; ++tries) {
    made_ = ::mkdir(folder.c_str(), 0777) == 0;
    if (!made_ && errno != EEXIST) fail_to_write(folder, errno);
    if (made_) sync_folder(folder.has_parent_path() ? folder.parent_path() : fs::path("."));
    descriptor_ = Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const int refusal = descriptor_ ? 0 : errno;
    if (refusal == ENOENT && is_there(folder)) fail_user("{}: is a link to nothing", folder.string());
    if (refusal == ENOENT) continue;
    if (refusal == ENOTDIR) fail_user("{}: is a file, a folder is to be written", folder.string());
    if (refusal != 0) fail_to_write(folder, refusal);
    const int error = ::flock(descriptor_.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (error == EWOULDBLOCK) fail_user("{}: another process trains into it now", folder.string());
    if (error != 0 && !knows_no_locks(error)) fail_to_write(folder, error);
    if (error != 0)
      notes.push_back(fmt::format("{}: its file system has no locks ({}): nothing keeps a second training away",
                                  folder.string(), std::strerror(error)));
    if (is_still_there(descriptor_.get(), folder)) return;
  }
  fail_user("{}: comes and goes", folder.string());
}

fs::path FolderClaim::place() const {
  if (is_still_there(descriptor_.get(), folder_)) return folder_;
  std::error_code unknown;
  const fs::path now = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor_.get()), unknown);
  if (unknown || !is_still_there(descriptor_.get(), now))
    fail_user("{}: is no longer the folder that this training began in", folder_.string());
  return now;
}

FolderClaim::~FolderClaim() {
  if (made_) ::rmdir(folder_.c_str());
}

TrainingFolder::TrainingFolder(const fs::path& folder, std::vector<std::string>& notes)
    : path_(folder), claim_(folder, notes) {
  finish_interrupted();
  if (!entries_of(path_).empty() && !holds_training(path_))
    fail_user("{}: holds something that is no training of ours; name another folder", path_.string());
  // Before the first step, not after the last, it is known whether a checkpoint can be written.
  make_ours(path_ / saving_folder);
  remove_ours(path_ / saving_folder);
}

void TrainingFolder::finish_interrupted() {
  const fs::path saving = path_ / saving_folder;
  const fs::path saved = path_ / saved_folder;
  const bool is_cut_short = finds_ours(saving);
  if (finds_ours(saved)) {
    check_what_is_left(saved);
    put_in_place(saved, path_);
  }
  if (is_cut_short) remove_ours(saving);
}

void TrainingFolder::replace(const std::function<void(const fs::path&)>& write) {
  path_ = claim_.place();
  finish_interrupted();
  const fs::path saving = path_ / saving_folder;
  const fs::path saved = path_ / saved_folder;
  make_ours(saving);
  try {
    write(saving);
    sync_folder(saving);
    require(::rename(saving.c_str(), saved.c_str()), saved);
  } catch (...) {
    discard_quietly(saving);
    throw;
  }
  sync_folder(path_);
  put_in_place(saved, path_);
}

void remove_training(const fs::path& folder) {
  if (!is_there(folder)) return;
  std::vector<std::string> notes;
  const TrainingFolder held(folder, notes);
  for (const char* name : support_files) take_away(folder / name);
  // The files by which it is known as ours go last.
  for (const char* name :
       {adapter_config_file, weights_file, adapter_weights_file, moments_file, manifest_file, progress_file})
    take_away(folder / name);
  ::rmdir(folder.c_str());
}

bool holds_training(const fs::path& folder) {
  return names_format(folder / progress_file, "assay training ") ||
         names_format(folder / manifest_file, "assay manifest ");
}

}  // namespace assay
