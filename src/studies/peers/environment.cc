#include "studies/peers/environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <thread>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/system_error.h"
#include "hub/scratch.h"
#include "measure/companion.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// In a folder that is whole: what was installed, a line each.
constexpr const char* installed_list = "assay-peer.txt";
constexpr const char* unfinished_prefix = ".unfinished-";

std::string list_of_packages(const PeerEnvironment& environment) {
  return fmt::format("{}\n", fmt::join(environment.packages, "\n"));
}

const PeerEnvironment* base_of(const PeerEnvironment& environment) {
  const auto all = peer_environments();
  const auto found = std::ranges::find_if(all, [&](const PeerEnvironment& one) {
    return environment.on != nullptr && one.name == std::string_view(environment.on);
  });
  return found == all.end() ? nullptr : &*found;
}

void make_peers_folder(const fs::path& folder) {
  std::error_code fault;
  fs::create_directories(folder, fault);
  if (fault) fail_call(folder.string(), fault.value());
}

/// Held while environments are made or removed.
Descriptor lock_environments(const fs::path& folder, const StudyCallbacks& callbacks) {
  make_peers_folder(folder);
  const fs::path path = folder / ".lock";
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file) fail_call(path.string(), errno);
  for (bool is_told = false; ::flock(file.get(), LOCK_EX | LOCK_NB) != 0; is_told = true) {
    if (errno != EWOULDBLOCK && errno != EINTR) fail_call(path.string(), errno);
    if (is_set(callbacks.interrupted)) throw Error(ExitCode::interrupted, "peers: interrupted");
    if (!is_told && callbacks.say) callbacks.say("another assay installs peers: waiting for it");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return file;
}

/// What killed processes left.
void remove_unfinished(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().starts_with(unfinished_prefix)) found.push_back(entry.path());
  }
  for (const fs::path& path : found) remove_if_abandoned(path);
}

/// The line that says most of what a command said: pip's last ERROR, else the last.
std::string line_that_tells(std::string_view text) {
  std::string last;
  std::string error;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    last = printable(line, 240);
    if (line.starts_with("ERROR")) error = last;
  }
  return error.empty() ? last : error;
}

/// Makes one environment in a folder that is nobody's yet.
class EnvironmentMaker {
 public:
  EnvironmentMaker(const PeerEnvironment& environment, const StudyCallbacks& callbacks, const EnvironmentTools& tools)
      : environment_(environment), callbacks_(callbacks), tools_(tools) {}

  /// `base`: the site-packages that it finds too; empty: none.
  void make(const fs::path& folder, const fs::path& base) {
    step({tools_.python, "-m", "venv", folder.string()});
    if (!base.empty()) write_file_atomically(site_packages(folder) / "assay-base.pth", base.string() + "\n");
    std::vector<std::string> install = {(folder / "bin/python").string(),
                                        "-m",
                                        "pip",
                                        "install",
                                        "--no-input",
                                        "--disable-pip-version-check",
                                        "--only-binary=:all:",
                                        "--progress-bar=off"};
    if (environment_.compiled != nullptr) install.push_back(fmt::format("--no-binary={}", environment_.compiled));
    install.insert(install.end(), environment_.packages.begin(), environment_.packages.end());
    step(install);
  }

  static fs::path site_packages(const fs::path& folder) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder / "lib", ignored)) {
      if (entry.path().filename().string().starts_with("python")) return entry.path() / "site-packages";
    }
    fail_lacking("{}: has no site-packages", folder.string());
  }

 private:
  void step(const std::vector<std::string>& words) {
    std::vector<std::string> variables = {"PYTHONUNBUFFERED=1"};
    if (environment_.settings != nullptr) variables.emplace_back(environment_.settings);
    Companion program({.words = words, .environment = variables, .interrupted = callbacks_.interrupted});
    std::string last;
    CompanionReply reply;
    for (;;) {
      reply = program.hear(tools_.most_s);
      if (reply.kind != CompanionReply::Kind::answered) break;
      last = printable(reply.text, 240);
      if (callbacks_.progress) callbacks_.progress(fmt::format("installing {}: {:.60}", environment_.name, last), 0);
    }
    if (reply.kind == CompanionReply::Kind::interrupted)
      throw Error(ExitCode::interrupted, fmt::format("{}: interrupted, nothing of it was kept", environment_.name));
    if (reply.kind == CompanionReply::Kind::ended && program.exit_code() == 0) return;
    const std::string told = line_that_tells(program.said());
    fail_lacking("{}: could not be installed: {}", environment_.name,
                 !told.empty()   ? told
                 : !last.empty() ? last
                                 : reply.text);
  }

  const PeerEnvironment& environment_;
  const StudyCallbacks& callbacks_;
  const EnvironmentTools& tools_;
};

void remove_folder(const fs::path& folder) {
  std::error_code fault;
  fs::remove(folder / installed_list, fault);  // From here on it is none, should this end half way.
  fs::remove_all(folder, fault);
  if (fault) fail_call(folder.string(), fault.value());
}

/// Under the lock, with what it stands on there.
void make_environment(const PeerEnvironment& environment, const fs::path& folder, const StudyCallbacks& callbacks,
                      const EnvironmentTools& tools) {
  const fs::path to = environment_folder(environment, folder);
  const ScratchHandle scratch = make_scratch(folder / unfinished_prefix);
  const fs::path made = scratch.get()->path / environment.name;
  const PeerEnvironment* const base = base_of(environment);
  const fs::path base_packages =
      base == nullptr ? fs::path() : EnvironmentMaker::site_packages(environment_folder(*base, folder));
  EnvironmentMaker(environment, callbacks, tools).make(made, base_packages);
  write_file_atomically(made / installed_list, list_of_packages(environment));
  remove_folder(to);  // Of a damaged one what is left; the name with the hash is nobody else's.
  std::error_code fault;
  fs::rename(made, to, fault);
  if (fault) fail_call(to.string(), fault.value());
}

std::int64_t bytes_below(const fs::path& folder) {
  std::int64_t bytes = 0;
  std::error_code fault;
  for (fs::recursive_directory_iterator it(folder, fault), end; !fault && it != end; it.increment(fault)) {
    std::error_code unreadable;
    if (it->is_symlink(unreadable) || !it->is_regular_file(unreadable)) continue;
    const auto size = it->file_size(unreadable);
    if (!unreadable) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

/// "pytorch" of "pytorch-3f9a01c2".
std::string_view environment_in(std::string_view folder) {
  return folder.substr(0, folder.rfind('-'));
}

bool stands_on(std::string_view environment, std::string_view base) {
  const auto all = peer_environments();
  return std::ranges::any_of(
      all, [&](const PeerEnvironment& one) { return one.name == environment && one.on != nullptr && one.on == base; });
}

}  // namespace

fs::path peers_folder(const fs::path& root) {
  return root.empty() ? cache_folder() / "peers" : root;
}

fs::path environment_folder(const PeerEnvironment& environment, const fs::path& root) {
  const PeerEnvironment* const base = base_of(environment);
  const std::string packages =
      (base == nullptr ? std::string() : list_of_packages(*base)) + list_of_packages(environment);
  const std::string hash = sha256_hex(std::as_bytes(std::span(packages))).substr(0, 8);
  return peers_folder(root) / fmt::format("{}-{}", environment.name, hash);
}

bool is_damaged(const PeerEnvironment& environment, const fs::path& root) {
  const bool has_list = is_there(environment_folder(environment, root) / installed_list);
  return has_list && ::access(environment_python(environment, root).c_str(), X_OK) != 0;
}

bool is_installed(const PeerEnvironment& environment, const fs::path& root) {
  const PeerEnvironment* const base = base_of(environment);
  if (base != nullptr && !is_installed(*base, root)) return false;
  return is_there(environment_folder(environment, root) / installed_list) && !is_damaged(environment, root);
}

fs::path environment_python(const PeerEnvironment& environment, const fs::path& root) {
  return environment_folder(environment, root) / "bin/python";
}

void install_environment(const PeerEnvironment& environment, const fs::path& root, const StudyCallbacks& callbacks,
                         const EnvironmentTools& tools) {
  if (is_installed(environment, root)) return;
  const fs::path folder = peers_folder(root);
  if (const PeerEnvironment* base = base_of(environment); base != nullptr)
    install_environment(*base, root, callbacks, tools);
  const Descriptor lock = lock_environments(folder, callbacks);
  remove_unfinished(folder);
  if (is_installed(environment, root)) return;  // By who held the lock before.
  if (is_damaged(environment, root) && callbacks.say)
    callbacks.say(fmt::format("{}: its environment has no Python any more: it is made anew", environment.name));
  make_environment(environment, folder, callbacks, tools);
}

RemovedEnvironments remove_environments(const std::string& peer, const fs::path& root) {
  RemovedEnvironments removed;
  const std::string name = peer.empty() ? "" : environment_of(find_peer(peer)).name;
  const fs::path folder = peers_folder(root);
  if (!is_folder(folder)) return removed;
  const Descriptor lock = lock_environments(folder, {});
  remove_unfinished(folder);
  std::vector<fs::path> found;
  std::error_code fault;
  for (const auto& entry : fs::directory_iterator(folder, fault)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  for (const fs::path& path : found) {
    const std::string file = path.filename().string();
    const std::string_view environment = environment_in(file);
    const bool is_asked = name.empty() || environment == name || stands_on(environment, name);
    if (!is_asked || !is_there(path / installed_list)) continue;
    removed.bytes += bytes_below(path);
    removed.names.push_back(file);
    remove_folder(path);
  }
  return removed;
}

std::int64_t environment_bytes(const PeerEnvironment& environment, const fs::path& root) {
  return bytes_below(environment_folder(environment, root));
}

}  // namespace assay
