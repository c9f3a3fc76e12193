#include "quantization/new_path.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/paths.h"
#include "base/system_error.h"
#include "quantization/put_in_place.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

void remove_writing(const fs::path* folder) {
  try {
    std::error_code ignored;
    fs::remove_all(*folder, ignored);
  } catch (const std::bad_alloc&) {  // Behind the failure that is told.
  }
  delete folder;
}
using WritingFolder = Handle<const fs::path*, remove_writing>;

fs::path folder_around(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// "folder/" names the folder.
fs::path without_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

/// Beside the path, so that a rename puts in place what is made in it.
WritingFolder make_writing(const fs::path& path) {
  std::string name = (folder_around(path) / ("." + path.filename().string() + ".writing-XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) fail_call(path.string() + ": cannot be written", errno);
  return WritingFolder(new fs::path(name));
}

/// Files alone, a configuration among them: nothing else is taken away with it.
void check_is_model(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_regular_file(error))
      fail_user("{}: holds '{}', which is no file of a model; move it away", folder.string(),
                at->path().filename().string());
  }
  if (error) fail_call(folder.string(), error.value());
  if (!is_there(folder / "config.json")) fail_user("{}: holds no model that could be overwritten", folder.string());
}

}  // namespace

void check_new_path(const fs::path& given, Existing existing) {
  const fs::path path = without_slash(given);
  if (!is_folder(folder_around(path)))
    fail_user("{}: there is no folder {}", given.string(), folder_around(path).string());
  if (!is_there(path)) return;
  if (existing == Existing::refused) fail_user("{}: is there already; --overwrite replaces it", given.string());
  if (is_folder(path)) check_is_model(path);
}

void write_new_folder(const fs::path& given, Existing existing, const std::function<void(const fs::path&)>& write) {
  check_new_path(given, existing);
  const fs::path path = without_slash(given);
  if (is_there(path) && !is_folder(path)) fail_user("{}: is a file, where a folder is to be written", given.string());
  const WritingFolder writing = make_writing(path);
  write(*writing.get());
  ::chmod(writing.get()->c_str(), 0755);  // mkdtemp lets nobody else in.
  sync_folder(*writing.get());
  put_in_place(*writing.get(), path, is_there(path) ? RENAME_EXCHANGE : RENAME_NOREPLACE);
}

void write_new_file(const fs::path& path, Existing existing, const std::function<void(const fs::path&)>& write) {
  check_new_path(path, existing);
  if (is_folder(path)) fail_user("{}: is a folder, where a file is to be written", path.string());
  const WritingFolder writing = make_writing(path);
  const fs::path made = *writing.get() / path.filename();
  write(made);
  put_in_place(made, path, is_there(path) ? 0 : RENAME_NOREPLACE);
}

}  // namespace assay
