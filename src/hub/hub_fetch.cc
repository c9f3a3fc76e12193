#include "hub/hub_fetch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>
#include <span>
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
/// A tokenizer is made of these, where the repository has them.
constexpr const char* tokenizer_files[] = {
    "tokenizer.json",    "tokenizer_config.json", "tokenizer.model", "special_tokens_map.json",
    "added_tokens.json", "chat_template.jinja",   "vocab.txt",       "vocab.json",
    "merges.txt"};
/// A model has these beside its weights and tokenizer; with the configuration the snapshot is a model.
constexpr const char* configurations[] = {"generation_config.json", "modules.json", "1_Pooling/config.json",
                                          "config.json"};
constexpr std::size_t most_at_a_time = 4;
constexpr double between_reports_s = 5;
constexpr std::size_t longest_index = 64 << 20;

bool has(const std::vector<std::string>& files, const std::string& file) {
  return std::find(files.begin(), files.end(), file) != files.end();
}

void append_known(std::vector<std::string>& made, const std::vector<std::string>& files,
                  std::span<const char* const> known) {
  std::copy_if(known.begin(), known.end(), std::back_inserter(made),
               [&](const char* file) { return has(files, file); });
}

std::vector<std::string> with_configuration(const std::vector<std::string>& files, std::vector<std::string> weights) {
  append_known(weights, files, tokenizer_files);
  append_known(weights, files, configurations);
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

/// Those that stand in files of their own, or the .gguf that begins with them.
std::vector<std::string> files_of_tokenizer(const HubName& name, const std::vector<std::string>& files) {
  const std::vector<std::string> models = called_by(files, name.file);
  const bool is_gguf = !models.empty() && (!name.file.empty() || !has_tokenizer(files));
  if (is_gguf) return {only_model("hf:" + name.repository, models)};
  std::vector<std::string> needed;
  if (has_tokenizer(files)) append_known(needed, files, tokenizer_files);
  if (!needed.empty()) return needed;
  fail_user("{}: revision {} has no tokenizer.json, no vocab.json with merges.txt, no vocab.txt and no .gguf file",
            name.repository, name.revision);
}

void make_folders(const fs::path& folder) {
  std::error_code fault;
  fs::create_directories(folder, fault);
  if (fault) fail_call(folder.string(), fault.value());
}

/// huggingface_hub's lock of a blob: whoever holds it fetches. Nothing while another one does.
Descriptor try_lock(const fs::path& path) {
  make_folders(path.parent_path());
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file) fail_call(path.string(), errno);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK && errno != EINTR) fail_call(path.string(), errno);
  return {};
}

Descriptor locked(const fs::path& path, const std::string& what) {
  for (;;) {
    if (Descriptor file = try_lock(path)) return file;
    throw_if_interrupted(what);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

/// What an unfinished file is the beginning of, written beside it.
struct PartOf {
  std::string revision = {};
  std::string file = {};
};

constexpr const char* note_ending = ".of";
constexpr std::size_t longest_note = 8192;

fs::path note_of(const fs::path& part) {
  return part.string() + note_ending;
}

void write_note(const fs::path& part, const PartOf& whole) {
  const Descriptor note = open_unfinished(note_of(part));
  const std::string text = whole.revision + "\n" + whole.file;
  if (::ftruncate(note.get(), 0) != 0) fail_call(note_of(part).string(), errno);
  write_all(note.get(), std::as_bytes(std::span(text)), note_of(part).string());
}

/// Nothing where there is no note.
PartOf read_note(const fs::path& part) {
  if (!is_there(note_of(part))) return {};
  const std::string text = read_file(note_of(part), longest_note);
  const std::size_t line = std::min(text.find('\n'), text.size());
  return {text.substr(0, line), text.substr(std::min(line + 1, text.size()))};
}

void remove_part(const fs::path& part) {
  std::error_code gone;
  fs::remove(part, gone);
  fs::remove(note_of(part), gone);
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
    const Descriptor held = locked(lock_of(file.etag), what);
    if (is_there(blob(file))) return hooks.arrived(file.bytes);
    const fs::path part = unfinished() / file.etag;
    make_folders(blob(file).parent_path());
    write_note(part, {name_.revision, file.name});
    hub.download(file, part, hooks);
    std::error_code fault;
    fs::rename(part, blob(file), fault);
    if (fault) fail_call(blob(file).string(), fault.value());
    remove_part(part);
  }

  /// Removes unfinished files that the revision does not have any more, and their folder where nothing is left. What is
  /// another revision's, or on its way just now, stays.
  void tidy(const HubRepository& hub) const {
    std::error_code unreadable;
    std::set<fs::path> parts;
    for (fs::directory_iterator at(unfinished(), unreadable), end; !unreadable && at != end; at.increment(unreadable)) {
      const fs::path& path = at->path();
      parts.insert(path.extension() == note_ending ? path.parent_path() / path.stem() : path);
    }
    for (const fs::path& part : parts) {
      const Descriptor held = try_lock(lock_of(part.filename().string()));
      if (held && !is_wanted(hub, part)) remove_part(part);
    }
    fs::remove(unfinished(), unreadable);
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
  fs::path unfinished() const { return folder_ / ".unfinished"; }
  fs::path lock_of(const std::string& etag) const {
    return hub_cache_folder() / ".locks" / folder_.filename() / (etag + ".lock");
  }

  bool is_wanted(const HubRepository& hub, const fs::path& part) const {
    const PartOf whole = read_note(part);
    if (!is_there(part) || whole.revision.empty()) return false;
    if (whole.revision != name_.revision) return true;
    return has(hub.files(), whole.file) && hub.look_up(whole.file).etag == part.filename();
  }

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

  void run(HubNeed need) {
    const std::vector<std::string> needed = needed_files(name_, hub_.files(), need);
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
    cache_.tidy(hub_);
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

std::vector<std::string> needed_files(const HubName& name, std::vector<std::string> files, HubNeed need) {
  // What leads elsewhere, and what no model needs, is as if it were not there.
  files.erase(std::remove_if(files.begin(), files.end(), [](const std::string& file) { return !is_inner_path(file); }),
              files.end());
  if (name.kind == HubKind::data_set) return file_of_data(name, files);
  if (need == HubNeed::tokenizer) return files_of_tokenizer(name, files);
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

void fetch_from_hub(const HubName& name, HubNeed need) {
  const InterruptScope interrupts = catch_interrupts();
  ModelFetch(name).run(need);
}

}  // namespace assay
