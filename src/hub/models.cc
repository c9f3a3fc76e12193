#include "hub/models.h"

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/folders.h"
#include "base/paths.h"
#include "base/printable.h"
#include "hub/elsewhere.h"
#include "hub/hub_cache.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

bool leads_to_folder(const fs::path& path) {
  std::error_code unreadable;
  return fs::is_directory(path, unreadable);
}

bool is_gguf_file(const fs::path& path) {
  std::error_code unreadable;
  return has_ending(path, ".gguf") && fs::is_regular_file(path, unreadable);
}

/// Its configuration and tokenizer stand beside it.
bool is_safetensors_file(const fs::path& path) {
  std::error_code unreadable;
  return path.extension() == ".safetensors" && fs::is_regular_file(path, unreadable);
}

/// Entries of a folder, sorted; none where it cannot be read.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code unreadable;
  for (fs::directory_iterator at(folder, unreadable), end; !unreadable && at != end; at.increment(unreadable)) {
    entries.push_back(at->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// Its .gguf file where the folder holds nothing but one to be a model.
fs::path model_in(const fs::path& folder) {
  std::error_code unreadable;
  if (fs::exists(folder / "config.json", unreadable)) return folder;
  const std::vector<fs::path> entries = entries_of(folder);
  const auto gguf = std::find_if(entries.begin(), entries.end(), is_gguf_file);
  return gguf == entries.end() ? folder : *gguf;
}

std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code unreadable;
  for (fs::recursive_directory_iterator at(folder, unreadable), end; !unreadable && at != end;
       at.increment(unreadable)) {
    std::error_code gone;
    const std::uintmax_t size = at->is_regular_file(gone) ? at->file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

/// What can only be a path and is none: of a name in others' stores, how to get it.
[[noreturn]] void fail_path(const fs::path& path) {
  std::error_code reason;
  const bool exists = fs::exists(path, reason);
  const std::string shown = printable(path.string(), 400);
  if (reason) fail_user("{}: {}", shown, reason.message());
  if (exists) fail_user("{}: is neither a model folder nor a .gguf file", shown);
  if (is_repository_name(path.string())) fail_user("{}: no such folder; {}", shown, how_to_fetch(path.string()));
  fail_user("{}: no such folder or .gguf file", shown);
}

}  // namespace

fs::path models_folder() {
  return cache_folder() / "models";
}

std::optional<fs::path> find_local(std::string_view name, HubNeed need) {
  if (name.empty() || name.find('\0') != std::string_view::npos) fail_user("'{}': is no model name", printable(name));
  if (is_hub_name(name) && parse_hub_name(name).kind == HubKind::data_set)
    fail_user("{}: is a data set, no model; --data takes it", printable(name));
  const fs::path path = is_hub_name(name) ? find_in_hub(name, need) : fs::path(name);
  if (is_gguf_file(path) || is_safetensors_file(path)) return path;
  if (leads_to_folder(path)) return model_in(path);
  if (is_hub_name(name) || name.find('/') != std::string_view::npos || has_ending(path, ".gguf")) fail_path(path);
  const std::optional<fs::path> cache = find_cache_folder();
  if (!cache || name.front() == '.') return std::nullopt;  // Names with a leading dot are unfinished downloads.
  const fs::path cached = *cache / "models" / path;
  return leads_to_folder(cached) ? std::optional(model_in(cached)) : std::nullopt;
}

std::vector<CachedModel> list_cached() {
  std::vector<CachedModel> models;
  if (!find_cache_folder()) return models;
  for (const fs::path& folder : entries_of(models_folder())) {
    const std::string name = folder.filename().string();
    if (name.front() == '.' || !leads_to_folder(folder)) continue;
    models.push_back({name, model_in(folder), bytes_in(folder)});
  }
  return models;
}

}  // namespace assay
