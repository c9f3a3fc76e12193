#include "hub/hub_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <regex>
#include <set>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/lower_case.h"
#include "base/paths.h"
#include "base/printable.h"
#include "hub/elsewhere.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view hub_prefix = "hf:";
constexpr std::size_t longest_ref = 4096;

/// Words of letters, digits, '-', '_' and '.' (not in front) between slashes: nothing that leads out of a folder.
bool is_inner_path(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_repository_word(text);
  return is_repository_word(text.substr(0, slash)) && is_inner_path(text.substr(slash + 1));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The folder of the commit that the revision means; whatever the refs say, it is one below snapshots.
fs::path snapshot_of(const HubName& name, const fs::path& repository) {
  std::string commit = name.revision;
  if (const fs::path ref = repository / "refs" / name.revision; is_there(ref) && !is_folder(ref)) {
    commit = read_file(ref, longest_ref);
    commit.erase(commit.find_last_not_of(" \r\n") + 1);
    if (!is_repository_word(commit)) fail_user("{}: holds no commit", printable(ref.string(), 400));
  }
  return is_repository_word(commit) ? repository / "snapshots" / commit : fs::path();
}

/// A file's name without its ending and, of a split one, without "-00001-of-00003".
std::string model_of_gguf(const fs::path& file) {
  static const std::regex split("-[0-9]{5}-of-[0-9]{5}$");
  return std::regex_replace(file.stem().string(), split, "");
}

/// The .gguf files of a snapshot that are models of language, not the projectors of images beside them; sorted.
std::vector<fs::path> gguf_files(const fs::path& snapshot) {
  std::set<fs::path> files;
  std::error_code unreadable;
  for (fs::recursive_directory_iterator at(snapshot, unreadable), end; !unreadable && at != end;
       at.increment(unreadable)) {
    const fs::path& path = at->path();
    if (path.extension() == ".gguf" && !path.filename().string().starts_with("mmproj") && is_there(path))
      files.insert(path);
  }
  return {files.begin(), files.end()};
}

/// Whether the file's name is the word, or ends in it behind '-', '.' or '_': capitals make no difference.
bool is_called_by(const fs::path& file, const std::string& word) {
  const std::string model = lower_case(model_of_gguf(file));
  if (!model.ends_with(lower_case(word))) return false;
  return model.size() == word.size() ||
         std::string_view("-._").find(model[model.size() - word.size() - 1]) != std::string_view::npos;
}

/// The one model that the files are, by its first file; an empty path for none.
fs::path only_model(std::string_view name, const std::vector<fs::path>& files) {
  std::set<std::string> models;
  for (const fs::path& file : files) models.insert(model_of_gguf(file));
  if (models.size() > 1)
    fail_user("{}: may be any of {}; ':FILE' behind it says which", printable(name), fmt::join(models, ", "));
  return files.empty() ? fs::path() : files.front();
}

fs::path file_of(std::string_view name, const HubName& parts, const fs::path& snapshot) {
  if (is_there(snapshot / parts.file)) return snapshot / parts.file;
  std::vector<fs::path> files = gguf_files(snapshot);
  const auto is_other = [&](const fs::path& file) { return !is_called_by(file, parts.file); };
  files.erase(std::remove_if(files.begin(), files.end(), is_other), files.end());
  const fs::path file = only_model(name, files);
  if (!file.empty()) return file;
  fail_user("{}: revision {} has no file {} in {}; `hf download {} FILE` fetches one that the hub has",
            parts.repository, parts.revision, parts.file, printable(snapshot.string(), 400), parts.repository);
}

}  // namespace

bool is_hub_name(std::string_view name) {
  return name.starts_with(hub_prefix);
}

HubName parse_hub_name(std::string_view name) {
  std::string_view rest = name.substr(std::min(hub_prefix.size(), name.size()));
  if (rest.starts_with("datasets/"))
    fail_user("{}: data sets are not taken by a name of the hub; --data takes files", printable(name));
  HubName parts;
  const std::size_t colon = rest.find(':');
  if (colon != std::string_view::npos) parts.file = rest.substr(colon + 1);
  const bool lacks_file = colon != std::string_view::npos && !is_inner_path(parts.file);
  rest = rest.substr(0, colon);
  const std::size_t at = rest.find('@');
  if (at != std::string_view::npos) parts.revision = rest.substr(at + 1);
  parts.repository = rest.substr(0, at);
  const bool is_name = is_repository_word(parts.repository) || is_repository_name(parts.repository);
  if (!is_hub_name(name) || !is_name || lacks_file || !is_inner_path(parts.revision))
    fail_user("{}: is no name of the hub; they are hf:ORG/NAME[@REVISION][:FILE]", printable(name));
  return parts;
}

fs::path hub_cache_folder() {
  if (const std::string cache = variable("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const std::string home = variable("HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "huggingface/hub";
  if (const std::string home = variable("HOME"); !home.empty()) return fs::path(home) / ".cache/huggingface/hub";
  fail_user("no folder holds the hub's models: none of HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME and HOME is set");
}

fs::path find_in_hub_cache(std::string_view name) {
  const HubName parts = parse_hub_name(name);
  std::string folder = "models--" + parts.repository;
  if (const std::size_t slash = folder.find('/'); slash != std::string::npos) folder.replace(slash, 1, "--");
  const fs::path repository = hub_cache_folder() / folder;
  if (!is_there(repository))
    fail_user("{}: is not in the hub's cache {}; `hf download {}` fetches it there", parts.repository,
              printable(hub_cache_folder().string(), 400), parts.repository);
  const fs::path snapshot = snapshot_of(parts, repository);
  if (snapshot.empty() || !is_there(snapshot))
    fail_user("{}: revision {} is not in {}; `hf download {} --revision {}` fetches it there", parts.repository,
              parts.revision, printable(repository.string(), 400), parts.repository, parts.revision);
  if (!parts.file.empty()) return file_of(name, parts, snapshot);
  if (is_there(snapshot / "config.json")) return snapshot;
  const fs::path gguf = only_model(name, gguf_files(snapshot));
  if (!gguf.empty()) return gguf;
  fail_user("{}: revision {} has neither config.json nor a .gguf file in {}", parts.repository, parts.revision,
            printable(snapshot.string(), 400));
}

}  // namespace assay
