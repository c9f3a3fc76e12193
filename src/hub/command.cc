#include "hub/command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>
#include <type_traits>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/signals.h"

namespace assay {
namespace {

constexpr std::array<int, 3> caught = {SIGINT, SIGTERM, SIGHUP};

// A signal handler can reach nothing else. Both are lock-free, so that it may.
std::atomic<int> pending_signal = 0;
std::atomic<pid_t> running_group = 0;
static_assert(std::is_same_v<pid_t, int> && std::atomic<int>::is_always_lock_free);

/// SIGKILL, not SIGTERM: the command's files all lie in a folder that its caller removes, and it must not linger.
void kill_running() {
  const pid_t group = running_group.load();
  if (group > 0) ::kill(-group, SIGKILL);
}

void remember(int signal) {
  const int saved_errno = errno;
  pending_signal.store(signal);
  kill_running();
  errno = saved_errno;
}

using FileActions = Handle<posix_spawn_file_actions_t*, ::posix_spawn_file_actions_destroy>;
using Attributes = Handle<posix_spawnattr_t*, ::posix_spawnattr_destroy>;

void set_attributes(posix_spawnattr_t* attributes) {
  sigset_t defaults;
  sigset_t none;
  ::sigemptyset(&defaults);
  ::sigemptyset(&none);
  for (const int signal : changed_signals) ::sigaddset(&defaults, signal);
  ::posix_spawnattr_setsigdefault(attributes, &defaults);
  ::posix_spawnattr_setsigmask(attributes, &none);
  ::posix_spawnattr_setpgroup(attributes, 0);
  ::posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
}

std::vector<std::string> environment_with(const std::string& temporary_folder) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("TMPDIR=")) result.emplace_back(*entry);
  }
  result.push_back("TMPDIR=" + temporary_folder);
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The process, or 0 where it could not start.
pid_t spawn(const Command& command, const std::string& log) {
  posix_spawn_file_actions_t raw_actions;
  posix_spawnattr_t raw_attributes;
  ASSAY_ASSERT(::posix_spawn_file_actions_init(&raw_actions) == 0);
  const FileActions actions(&raw_actions);
  ASSAY_ASSERT(::posix_spawnattr_init(&raw_attributes) == 0);
  const Attributes attributes(&raw_attributes);
  set_attributes(attributes.get());
  ::posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, log.c_str(), O_WRONLY | O_APPEND, 0);
  ::posix_spawn_file_actions_adddup2(actions.get(), STDOUT_FILENO, STDERR_FILENO);
  if (command.working_folder == WorkingFolder::own)
    ::posix_spawn_file_actions_addchdir_np(actions.get(), command.folder.c_str());

  std::vector<std::string> words = command.words;
  std::vector<std::string> environment = environment_with(command.folder.string());
  pid_t process = 0;
  const int error = ::posix_spawnp(&process, words[0].c_str(), actions.get(), attributes.get(),
                                   pointers_to(words).data(), pointers_to(environment).data());
  return error == 0 ? process : 0;
}

int wait_to_the_end(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Whether it still runs after so long. A process that has ended stays to be waited for.
bool runs_after(pid_t process, double most_s) {
  constexpr timespec pause = {0, 5'000'000};
  const double end_s = now_s() + most_s;
  siginfo_t ended{};
  while (::waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT) < 0 || ended.si_pid == 0) {
    if (now_s() >= end_s) return true;
    ::nanosleep(&pause, nullptr);
  }
  return false;
}

CommandResult wait_for(pid_t process, double most_s) {
  running_group.store(process);
  if (pending_signal.load() != 0) kill_running();  // It came between the start and the line above.
  CommandResult result;
  result.overran = most_s > 0 && runs_after(process, most_s);
  if (result.overran) kill_running();
  result.exit_code = wait_to_the_end(process);
  running_group.store(0);
  return result;
}

std::string tail_of(const std::filesystem::path& log) {
  constexpr std::size_t most_bytes = 16'000;
  std::string tail;
  read_pieces(log, [&](std::span<const std::byte> piece) {
    tail.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    if (tail.size() > most_bytes) tail.erase(0, tail.size() - most_bytes);
  });
  return tail;
}

}  // namespace

struct SavedSignals {
  std::array<struct sigaction, caught.size()> actions;
};

InterruptScope catch_interrupts() {
  InterruptScope scope(new SavedSignals{});
  pending_signal.store(0);
  struct sigaction action {};
  action.sa_handler = remember;  // Without SA_RESTART: waiting for a lock ends too.
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < caught.size(); ++i) {
    struct sigaction& before = scope.get()->actions[i];
    ::sigaction(caught[i], nullptr, &before);
    if (before.sa_handler != SIG_IGN) ::sigaction(caught[i], &action, nullptr);
  }
  return scope;
}

void restore_signals(SavedSignals* saved) {
  for (std::size_t i = 0; i < caught.size(); ++i) ::sigaction(caught[i], &saved->actions[i], nullptr);
  pending_signal.store(0);
  delete saved;
}

int pending_interrupt() {
  return pending_signal.load();
}

void throw_if_interrupted(const std::string& what) {
  if (pending_interrupt() != 0) throw Error(ExitCode::interrupted, what + ": interrupted, nothing of it was kept");
}

CommandResult run_command(const Command& command) {
  const std::filesystem::path log = command.folder / "command.log";
  write_file_atomically(log, "");
  const double begin_s = now_s();
  const pid_t process = spawn(command, log.string());
  if (process == 0) return {127, ""};
  CommandResult result = wait_for(process, command.most_s);
  result.wall_s = now_s() - begin_s;
  result.output = tail_of(log);
  return result;
}

}  // namespace assay
