#include "hub/hub_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/printable.h"
#include "hub/elsewhere.h"
#include "hub/hub_fetch.h"
#include "hub/hub_remote.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_ref = 4096;

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

/// Files of a snapshot by their paths in it; links that lead nowhere are none.
std::vector<std::string> files_in(const fs::path& snapshot) {
  std::vector<std::string> files;
  std::error_code unreadable;
  for (fs::recursive_directory_iterator at(snapshot, unreadable), end; !unreadable && at != end;
       at.increment(unreadable)) {
    if (is_there(at->path()) && !is_folder(at->path()))
      files.push_back(at->path().lexically_relative(snapshot).string());
  }
  return files;
}

std::vector<std::string> models_in(const fs::path& snapshot) {
  std::vector<std::string> files = files_in(snapshot);
  files.erase(std::remove_if(files.begin(), files.end(), [](const std::string& file) { return !is_gguf_model(file); }),
              files.end());
  return files;
}

HubLook found(const fs::path& path) {
  return {path, ""};
}

HubLook look_for_file(std::string_view name, const HubName& parts, const fs::path& snapshot) {
  if (is_there(snapshot / parts.file)) return found(snapshot / parts.file);
  const std::string file = only_model(name, called_by(models_in(snapshot), parts.file));
  if (!file.empty()) return found(snapshot / file);
  return {
      {},
      fmt::format("revision {} has no file {} in {}", parts.revision, parts.file, printable(snapshot.string(), 400))};
}

HubLook look_for_data(const HubName& parts, const fs::path& snapshot) {
  const std::string file = data_file(parts, files_in(snapshot));
  if (!file.empty()) return found(snapshot / file);
  const std::string which = parts.file.empty() ? "of .tsv, .jsonl and .txt" : parts.file;
  return {{},
          fmt::format("revision {} has no file {} in {}", parts.revision, which, printable(snapshot.string(), 400))};
}

/// A folder of config.json alone is what looking at a model's configuration leaves, and one of some parts of split
/// weights what an interrupted download of others does.
bool has_weights(const fs::path& snapshot) {
  if (is_there(snapshot / "model.safetensors")) return true;
  const fs::path index = snapshot / "model.safetensors.index.json";
  if (!is_there(index)) return false;
  try {
    return !files_of_index(snapshot.string(), read_file(index), files_in(snapshot)).empty();
  } catch (const Error&) {  // A part is not there.
    return false;
  }
}

}  // namespace

fs::path hub_cache_folder() {
  if (const std::string cache = environment("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const std::string home = environment("HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty())
    return fs::path(cache) / "huggingface/hub";
  if (const std::string home = environment("HOME"); !home.empty()) return fs::path(home) / ".cache/huggingface/hub";
  fail_user("no folder holds the hub's models: none of HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME and HOME is set");
}

fs::path hub_repository_folder(const HubName& name) {
  std::string folder = fmt::format("{}--{}", plural(name.kind), name.repository);
  if (const std::size_t slash = folder.find('/'); slash != std::string::npos) folder.replace(slash, 1, "--");
  return hub_cache_folder() / folder;
}

HubLook look_in_hub_cache(std::string_view name, HubNeed need) {
  const HubName parts = parse_hub_name(name);
  const fs::path repository = hub_repository_folder(parts);
  if (!is_there(repository))
    return {{}, fmt::format("is not in the hub's cache {}", printable(hub_cache_folder().string(), 400))};
  const fs::path snapshot = snapshot_of(parts, repository);
  if (snapshot.empty() || !is_there(snapshot))
    return {{}, fmt::format("revision {} is not in {}", parts.revision, printable(repository.string(), 400))};
  if (parts.kind == HubKind::data_set) return look_for_data(parts, snapshot);
  if (!parts.file.empty()) return look_for_file(name, parts, snapshot);
  if (need == HubNeed::tokenizer && has_tokenizer(files_in(snapshot))) return found(snapshot);
  if (is_there(snapshot / "config.json") && has_weights(snapshot)) return found(snapshot);
  const std::string gguf = only_model(name, models_in(snapshot));
  if (!gguf.empty()) return found(snapshot / gguf);
  return {{},
          fmt::format("revision {} has neither safetensors beside config.json nor a .gguf file in {}", parts.revision,
                      printable(snapshot.string(), 400))};
}

fs::path find_in_hub(std::string_view name, HubNeed need) {
  const HubLook cached = look_in_hub_cache(name, need);
  if (!cached.path.empty()) return cached.path;
  const HubName parts = parse_hub_name(name);
  if (need == HubNeed::cached) fail_user("{}: {}", parts.repository, cached.lacks);
  if (is_hub_offline()) {
    fail_user("{}: {}; nothing is fetched while HF_HUB_OFFLINE is set", parts.repository, cached.lacks);
  }
  fetch_from_hub(parts, need);
  const HubLook fetched = look_in_hub_cache(name, need);
  if (fetched.path.empty()) fail_user("{}: {}", parts.repository, fetched.lacks);
  return fetched.path;
}

}  // namespace assay
