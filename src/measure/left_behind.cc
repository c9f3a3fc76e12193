#include "measure/left_behind.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <sstream>

#include "base/clock.h"
#include "hardware/system_files.h"
#include "measure/conditions.h"
#include "measure/energy.h"

namespace assay {
namespace {

constexpr const char* environment_name = "ASSAY_MEASURED_BY=";
/// Between two looks at what is to end.
constexpr double between_daemon_looks_s = 2e-3;
/// A process in the kernel's hands may not even heed SIGKILL at once.
constexpr double most_wait_s = 3 * daemon_grace_s;

std::filesystem::path folder_of(pid_t process) {
  return "/proc/" + std::to_string(process);
}

/// Of /proc/PID/stat behind the name in brackets, which may hold anything: state, parent, group.
struct ProcessFacts {
  std::string name;
  char state = 'X';
  pid_t parent = 0;
  pid_t group = 0;
};

ProcessFacts process_facts(pid_t process) {
  ProcessFacts facts;
  const std::string text = read_text(folder_of(process) / "stat").value_or("");
  const auto open = text.find('(');
  const auto close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return facts;
  facts.name = text.substr(open + 1, close - open - 1);
  std::istringstream(text.substr(close + 1)) >> facts.state >> facts.parent >> facts.group;
  return facts;
}

/// Of a kernel that does not list the children of a task.
std::vector<pid_t> search_children() {
  std::vector<pid_t> found;
  for (const auto& folder : list_folder("/proc")) {
    const std::string name = folder.filename().string();
    pid_t process = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), process).ec != std::errc()) continue;
    if (process_facts(process).parent == ::getpid()) found.push_back(process);
  }
  return found;
}

/// Of every thread: those that are adopted go to any of them.
std::vector<pid_t> children_of_this_process() {
  std::vector<pid_t> found;
  for (const auto& task : list_folder("/proc/self/task")) {
    const std::optional<std::string> listed = read_text(task / "children");
    if (!listed) return search_children();
    std::istringstream text(*listed);
    for (pid_t process = 0; text >> process;) found.push_back(process);
  }
  return found;
}

bool has_children() {
  siginfo_t ended{};
  return ::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

/// How long a process may be in the middle of its exec, where it has no environment.
constexpr double most_exec_s = 0.02;

std::string environment_of(pid_t process) {
  return read_text(folder_of(process) / "environ").value_or("");
}

/// The program whose runs gave it that environment; absent where it has another.
std::optional<std::size_t> program_of(const std::string& variables, const std::string& entry) {
  const std::string environment = '\0' + variables;
  const auto at = environment.find('\0' + entry);
  if (at == std::string::npos) return std::nullopt;
  std::size_t program = 0;
  const char* begin = environment.data() + at + 1 + entry.size();
  const bool is_number = std::from_chars(begin, environment.data() + environment.size(), program).ec == std::errc();
  return is_number ? std::optional(program) : std::nullopt;
}

std::string entry_of_this_process() {
  return fmt::format("{}{}:", environment_name, ::getpid());
}

}  // namespace

LeftBehind::LeftBehind(Daemons daemons) : daemons_(daemons), own_(children_of_this_process()) {
  ::prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper_);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

LeftBehind::~LeftBehind() {
  if (daemons_ == Daemons::ended) end_all();
  ::prctl(PR_SET_CHILD_SUBREAPER, was_subreaper_);
}

std::string LeftBehind::environment_entry(std::size_t program) const {
  return entry_of_this_process() + std::to_string(program);
}

/// Without children of its own, whatever this process has was left by a program. Else what says whose it is counts: its
/// environment, which a daemon seldom empties.
void LeftBehind::take_in(pid_t process, std::size_t program) {
  const std::string environment = environment_of(process);
  const std::optional<std::size_t> said = program_of(environment, entry_of_this_process());
  if (!said && !own_.empty() && process_facts(process).state != 'Z') {
    has_undecided_ = has_undecided_ || environment.empty();
    return;
  }
  left_.try_emplace(process, Left{.program = said.value_or(program), .since_s = now_s()});
}

void LeftBehind::look(pid_t running, std::size_t program) {
  has_undecided_ = false;
  if (!has_children()) return;
  for (const pid_t process : children_of_this_process()) {
    const bool is_own = std::find(own_.begin(), own_.end(), process) != own_.end();
    if (process != running && !is_own && !left_.contains(process)) take_in(process, program);
  }
  reap();
}

void LeftBehind::reap() {
  for (auto one = left_.begin(); one != left_.end();) {
    auto& [process, left] = *one;
    rusage usage{};
    int status = 0;
    if (::wait4(process, &status, WNOHANG | __WALL, &usage) == 0) {
      left.has_lasted = left.has_lasted || now_s() - left.since_s > short_life_s;
      ++one;
      continue;
    }
    leave_out_child_time(seconds(usage.ru_utime) + seconds(usage.ru_stime));
    LeftCounts& gone = gone_[left.program];
    if (left.has_lasted || left.asked_s > 0) ++gone.left;
    if (left.asked_s > 0) ++gone.ended;
    one = left_.erase(one);
  }
}

bool LeftBehind::is_unsettled() const {
  return std::any_of(left_.begin(), left_.end(), [](const auto& one) { return !one.second.has_lasted; });
}

void LeftBehind::settle() {
  const double end_s = now_s() + 2 * short_life_s;
  while (is_unsettled() && now_s() < end_s) {
    sleep_s(between_daemon_looks_s);
    reap();
  }
}

void LeftBehind::after_run(std::size_t program) {
  look(0, program);
  for (const double end_s = now_s() + most_exec_s; has_undecided_ && now_s() < end_s; look(0, program))
    sleep_s(between_daemon_looks_s);
  if (daemons_ == Daemons::ended) end_all();
}

void LeftBehind::ask_to_end() {
  for (auto& [process, left] : left_) {
    if (left.asked_s == 0) {
      left.asked_s = now_s();
      ::kill(process, SIGTERM);
    } else if (now_s() - left.asked_s > daemon_grace_s) {
      ::kill(process, SIGKILL);
    }
  }
}

/// What one leaves when it ends comes to this process in its turn, and is ended likewise.
void LeftBehind::end_all() {
  settle();
  const double end_s = now_s() + most_wait_s;
  while (!left_.empty() && now_s() < end_s) {
    ask_to_end();
    sleep_s(between_daemon_looks_s);
    look(0, left_.begin()->second.program);
  }
}

LeftCounts LeftBehind::counts(std::size_t program) const {
  const auto gone = gone_.find(program);
  LeftCounts counts = gone == gone_.end() ? LeftCounts{} : gone->second;
  for (const auto& [process, left] : left_) {
    if (left.program != program) continue;
    ++counts.left;
    ++counts.alive;
  }
  return counts;
}

std::vector<std::string> LeftBehind::living(std::size_t program) const {
  std::vector<std::string> words;
  words.reserve(left_.size());
  for (const auto& [process, left] : left_) {
    if (left.program == program) words.push_back(fmt::format("{} {}", process, process_facts(process).name));
  }
  return words;
}

}  // namespace assay
