#include "hub/hub_fetch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/system_error.h"
#include "base/units.h"
#include "base/write_file.h"
#include "hub/command.h"
#include "hub/hub_cache.h"
#include "hub/hub_remote.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* whole_weights = "model.safetensors";
constexpr const char* weights_index = "model.safetensors.index.json";
/// Beside the weights, where the repository has them. The configuration comes last: with it the snapshot is a model.
constexpr const char* beside_weights[] = {"generation_config.json",
                                          "tokenizer.json",
                                          "tokenizer_config.json",
                                          "tokenizer.model",
                                          "special_tokens_map.json",
                                          "added_tokens.json",
                                          "chat_template.jinja",
                                          "vocab.txt",
                                          "vocab.json",
                                          "merges.txt",
                                          "modules.json",
                                          "1_Pooling/config.json",
                                          "config.json"};
constexpr std::size_t most_at_a_time = 4;
constexpr double between_reports_s = 5;
constexpr std::size_t longest_index = 64 << 20;

bool has(const std::vector<std::string>& files, const std::string& file) {
  return std::find(files.begin(), files.end(), file) != files.end();
}

std::vector<std::string> with_configuration(const std::vector<std::string>& files, std::vector<std::string> weights) {
  for (const char* file : beside_weights) {
    if (has(files, file)) weights.emplace_back(file);
  }
  return weights;
}

std::vector<std::string> named_file(const HubName& name, const std::vector<std::string>& files) {
  if (has(files, name.file) && !name.file.ends_with(".safetensors")) return {name.file};
  if (has(files, name.file)) return with_configuration(files, {name.file});
  const std::string model = only_model("hf:" + name.repository, called_by(files, name.file));
  if (!model.empty()) return files_of_model(files, model);
  fail_user("{}: revision {} has no file {}, nor a .gguf that is called so", name.repository, name.revision, name.file);
}

std::vector<std::string> file_of_data(const HubName& name, const std::vector<std::string>& files) {
  const std::string file = data_file(name, files);
  if (!file.empty()) return {file};
  fail_user("{}: revision {} has no file {}; .tsv, .jsonl and text are read, .parquet is not", name.repository,
            name.revision, name.file.empty() ? "of these formats" : name.file);
}

void make_folders(const fs::path& folder) {
  std::error_code fault;
  fs::create_directories(folder, fault);
  if (fault) fail_call(folder.string(), fault.value());
}

/// huggingface_hub's lock of a blob: whoever holds it fetches.
Descriptor locked(const fs::path& path, const std::string& what) {
  make_folders(path.parent_path());
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file) fail_call(path.string(), errno);
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) fail_call(path.string(), errno);
    throw_if_interrupted(what);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return file;
}

/// What is told of transfers that run side by side.
class FetchProgress {
 public:
  FetchProgress(std::string what, std::uint64_t bytes) : what_(std::move(what)), bytes_(bytes) {}

  void arrived(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    arrived_ += bytes;
    const double now = now_s();
    if (now - told_s_ < between_reports_s) return;
    told_s_ = now;
    const double rate = static_cast<double>(arrived_) / (now - begin_s_);
    const double left = static_cast<double>(bytes_) - static_cast<double>(arrived_);
    fmt::print(stderr, "{}: {} of {}, {}/s, {:.0f} s left\n", what_, format_bytes(static_cast<double>(arrived_)),
               format_bytes(static_cast<double>(bytes_)), format_bytes(rate), std::max(0.0, left / rate));
  }

 private:
  std::string what_;
  std::uint64_t bytes_;
  std::mutex mutex_;
  std::uint64_t arrived_ = 0;
  double begin_s_ = now_s();
  double told_s_ = begin_s_;
};

/// One repository of the cache while files come into it.
class CacheFolder {
 public:
  explicit CacheFolder(const HubName& name) : name_(name), folder_(hub_repository_folder(name)) {}

  fs::path blob(const RemoteFile& file) const { return folder_ / "blobs" / file.etag; }

  void fetch(const HubRepository& hub, const RemoteFile& file, const TransferHooks& hooks) const {
    const std::string what = fmt::format("{}: {}", name_.repository, file.name);
    const fs::path lock = hub_cache_folder() / ".locks" / folder_.filename() / (file.etag + ".lock");
    const Descriptor held = locked(lock, what);
    if (is_there(blob(file))) return hooks.arrived(file.bytes);
    const fs::path part = folder_ / ".unfinished" / file.etag;
    make_folders(part.parent_path());
    make_folders(blob(file).parent_path());
    hub.download(file, part, hooks);
    std::error_code fault;
    fs::rename(part, blob(file), fault);
    if (fault) fail_call(blob(file).string(), fault.value());
  }

  /// The folder of unfinished files, where nothing lies in it.
  void tidy() const {
    std::error_code in_use;
    fs::remove(folder_ / ".unfinished", in_use);
  }

  /// The snapshot's name for the blob: a relative link, so that the cache may be moved.
  void link(const std::string& commit, const RemoteFile& file) const {
    const fs::path at = folder_ / "snapshots" / commit / file.name;
    make_folders(at.parent_path());
    const fs::path target = blob(file).lexically_relative(at.parent_path());
    const fs::path fresh = at.parent_path() / fmt::format(".{}.{}", at.filename().string(), ::getpid());
    std::error_code fault;
    fs::remove(fresh, fault);
    fs::create_symlink(target, fresh, fault);
    if (!fault) fs::rename(fresh, at, fault);
    if (fault) fail_call(at.string(), fault.value());
  }

  void set_revision(const std::string& commit) const {
    if (name_.revision == commit) return;
    const fs::path ref = folder_ / "refs" / name_.revision;
    make_folders(ref.parent_path());
    write_file_atomically(ref, commit);
  }

 private:
  const HubName& name_;
  fs::path folder_;
};

/// Fetches them side by side; the first fault ends all.
void fetch_all(const HubRepository& hub, const CacheFolder& cache, const std::vector<RemoteFile>& files,
               FetchProgress& progress) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::exception_ptr fault;
  TransferHooks hooks;
  hooks.arrived = [&](std::uint64_t bytes) { progress.arrived(bytes); };
  hooks.may_go_on = [&] { return !failed && pending_interrupt() == 0; };
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size() && !failed; i = next++) {
      try {
        cache.fetch(hub, files[i], hooks);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failed.exchange(true)) fault = std::current_exception();
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min(most_at_a_time, files.size()); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (fault) std::rethrow_exception(fault);
}

class ModelFetch {
 public:
  explicit ModelFetch(const HubName& name) : name_(name), hub_(name), cache_(name) {}

  void run() {
    const std::vector<std::string> needed = needed_files(name_, hub_.files());
    fetch(needed);
    std::vector<std::string> rest;
    if (has(needed, weights_index)) {
      const std::string text = read_file(cache_.blob(remote_.back()), longest_index);
      rest = files_of_index(name_.repository, text, hub_.files());
      fetch(rest);
    }
    // Weights first: a configuration without them would look like a model.
    std::stable_partition(remote_.begin(), remote_.end(),
                          [](const RemoteFile& file) { return file.name != "config.json"; });
    for (const RemoteFile& file : remote_) cache_.link(hub_.commit(), file);
    cache_.set_revision(hub_.commit());
    cache_.tidy();
  }

 private:
  /// The last of `remote_` is then the index, if it is among them.
  void fetch(const std::vector<std::string>& names) {
    std::vector<RemoteFile> files;
    std::uint64_t bytes = 0;
    for (const std::string& name : names) {
      files.push_back(hub_.look_up(name));
      bytes += files.back().bytes;
    }
    fmt::print(stderr, "{}: fetching {} file{}, {}\n", name_.repository, files.size(), files.size() == 1 ? "" : "s",
               format_bytes(static_cast<double>(bytes)));
    FetchProgress progress(name_.repository, bytes);
    fetch_all(hub_, cache_, files, progress);
    std::stable_partition(files.begin(), files.end(),
                          [](const RemoteFile& file) { return file.name != weights_index; });
    remote_.insert(remote_.end(), files.begin(), files.end());
  }

  const HubName& name_;
  HubRepository hub_;
  CacheFolder cache_;
  std::vector<RemoteFile> remote_;
};

}  // namespace

std::vector<std::string> needed_files(const HubName& name, std::vector<std::string> files) {
  // What leads elsewhere, and what no model needs, is as if it were not there.
  files.erase(std::remove_if(files.begin(), files.end(), [](const std::string& file) { return !is_inner_path(file); }),
              files.end());
  if (name.kind == HubKind::data_set) return file_of_data(name, files);
  if (!name.file.empty()) return named_file(name, files);
  const bool is_split = !has(files, whole_weights) && has(files, weights_index);
  if (has(files, "config.json") && (is_split || has(files, whole_weights)))
    return with_configuration(files, {is_split ? weights_index : whole_weights});
  const std::string model = only_model("hf:" + name.repository, called_by(files, ""));
  if (!model.empty()) return files_of_model(files, model);
  fail_user("{}: revision {} has neither safetensors beside config.json nor a .gguf file", name.repository,
            name.revision);
}

std::vector<std::string> files_of_index(const std::string& repository, const std::string& text,
                                        const std::vector<std::string>& files) {
  std::set<std::string> named;
  try {
    const Json json = parse_json(text, repository);
    for (const auto& [tensor, file] : json.at("weight_map").items()) named.insert(file.get<std::string>());
  } catch (const Json::exception&) {
    fail_user("{}: {} is no index of split weights", repository, weights_index);
  }
  for (const std::string& file : named) {
    if (!is_inner_path(file) || !has(files, file))
      fail_user("{}: {} names {}, which the repository does not have", repository, weights_index, printable(file));
  }
  return {named.begin(), named.end()};
}

void fetch_from_hub(const HubName& name) {
  const InterruptScope interrupts = catch_interrupts();
  ModelFetch(name).run();
}

}  // namespace assay
