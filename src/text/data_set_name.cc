#include "text/data_set_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/printable.h"
#include "hub/elsewhere.h"
#include "hub/hub_cache.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view data_set_prefix = "hf:datasets/";
constexpr const char* endings_of_data[] = {".tsv", ".jsonl", ".txt"};
constexpr std::size_t longest_commit = 4096;
constexpr std::size_t most_told = 10;

fs::path data_set_folder(const HubName& name) {
  std::string folder = "datasets--" + name.repository;
  if (const std::size_t slash = folder.find('/'); slash != std::string::npos) folder.replace(slash, 1, "--");
  return hub_cache_folder() / folder;
}

/// The commit that a branch or tag is at by the cache's refs; else the revision is one.
std::string commit_of(const HubName& name, const fs::path& folder) {
  const fs::path ref = folder / "refs" / name.revision;
  if (!is_there(ref) || is_folder(ref)) return name.revision;
  std::string commit = read_file(ref, longest_commit);
  commit.erase(commit.find_last_not_of(" \r\n") + 1);
  return commit;
}

/// Names of the snapshot's files, sorted; links that lead nowhere are none.
std::vector<std::string> files_of_snapshot(const fs::path& snapshot) {
  std::vector<std::string> files;
  std::error_code unreadable;
  for (fs::recursive_directory_iterator at(snapshot, unreadable), end; !unreadable && at != end;
       at.increment(unreadable)) {
    if (fs::is_regular_file(at->path(), unreadable)) files.push_back(at->path().lexically_relative(snapshot).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool is_of_data(const std::string& file) {
  return std::any_of(std::begin(endings_of_data), std::end(endings_of_data),
                     [&](const char* ending) { return file.ends_with(ending); });
}

/// Their names in one line; of many the first.
std::string told(const std::vector<std::string>& files) {
  const std::vector<std::string> first(files.begin(),
                                       files.begin() + static_cast<std::ptrdiff_t>(std::min(files.size(), most_told)));
  const std::string more = files.size() > most_told ? fmt::format(" and {} more", files.size() - most_told) : "";
  return printable(fmt::format("{}{}", fmt::join(first, ", "), more), 600);
}

std::string only_file(const std::string& name, const fs::path& snapshot) {
  const std::vector<std::string> files = files_of_snapshot(snapshot);
  std::vector<std::string> data;
  std::copy_if(files.begin(), files.end(), std::back_inserter(data), is_of_data);
  if (data.size() == 1) return data.front();
  if (data.empty())
    fail_user("{}: {} holds no {} file, which are read; it has {}", name, printable(snapshot.string(), 400),
              fmt::join(endings_of_data, ", "), files.empty() ? "none at all" : told(files));
  fail_user("{}: may be any of {}; ':FILE' behind it says which", name, told(data));
}

}  // namespace

fs::path find_data(const fs::path& named) {
  const std::string name = named.string();
  if (!is_hub_name(name)) return named;
  if (!name.starts_with(data_set_prefix))
    fail_user("{}: is no data set of the hub; they are hf:datasets/ORG/NAME[@REVISION][:FILE]", printable(name));
  const HubName parts = parse_hub_name("hf:" + name.substr(data_set_prefix.size()));
  const std::string data_set = "datasets/" + parts.repository;
  const fs::path folder = data_set_folder(parts);
  if (!is_there(folder))
    fail_user("{}: is not in the hub's cache {}; `hf download --repo-type dataset {}` fetches it there", data_set,
              printable(hub_cache_folder().string(), 400), parts.repository);
  const std::string commit = commit_of(parts, folder);
  const fs::path snapshot = folder / "snapshots" / commit;
  if (!is_repository_word(commit) || !is_there(snapshot))
    fail_user("{}: revision {} is not in {}", data_set, parts.revision, printable(folder.string(), 400));
  const std::string file = parts.file.empty() ? only_file(data_set, snapshot) : parts.file;
  if (!is_there(snapshot / file))
    fail_user("{}: revision {} has no file {} in {}", data_set, parts.revision, file,
              printable(snapshot.string(), 400));
  return snapshot / file;
}

std::string shown_name(const fs::path& named) {
  const std::string name = named.string();
  return name.starts_with(data_set_prefix) ? name.substr(data_set_prefix.size()) : named.filename().string();
}

}  // namespace assay
