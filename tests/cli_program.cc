#include "cli_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <regex>
#include <stdexcept>

namespace assay {
namespace {

/// A run that takes longer hangs, however busy the machine is.
constexpr unsigned most_s = 300;

using Clock = std::chrono::steady_clock;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using TemporaryFile = std::unique_ptr<std::FILE, CloseFile>;

std::string content_of(const TemporaryFile& file) {
  std::string text;
  char piece[4096];
  std::rewind(file.get());
  while (const std::size_t got = std::fread(piece, 1, sizeof piece, file.get())) text.append(piece, got);
  return text;
}

pid_t start(const std::filesystem::path& program, const std::filesystem::path& folder, const Arguments& arguments,
            int out, int err) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child > 0) return child;
  std::vector<char*> words = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::alarm(most_s);  // Outlives exec.
  ::setenv("TMPDIR", folder.c_str(), 1);
  ::setenv("XDG_DATA_HOME", (folder / data_home).c_str(), 1);  // Never the store of whoever runs the tests.
  if (::chdir(folder.c_str()) == 0) ::execv(words[0], words.data());
  ::_exit(126);
}

Outcome wait_for(pid_t child) {
  int status = 0;
  rusage usage{};
  if (::wait4(child, &status, 0, &usage) != child) throw std::runtime_error("wait4 failed");
  Outcome outcome;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  outcome.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  outcome.peak_bytes = usage.ru_maxrss * 1024;
  return outcome;
}

/// Both ends of a new terminal.
struct Terminal {
  int ours = -1;
  int theirs = -1;

  Terminal() {
    ours = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ours < 0 || ::grantpt(ours) != 0 || ::unlockpt(ours) != 0) throw std::runtime_error("no terminal");
    theirs = ::open(::ptsname(ours), O_RDWR | O_NOCTTY | O_CLOEXEC);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    ::close(ours);
    if (theirs >= 0) ::close(theirs);
  }
};

std::string with_single_spaces(const std::string& text) {
  return std::regex_replace(text, std::regex("\\s+"), " ");
}

}  // namespace

bool Outcome::says(const std::string& part) const {
  return with_single_spaces(out).find(part) != std::string::npos;
}

Outcome run_assay(const std::filesystem::path& folder, const Arguments& arguments) {
  return run_program(ASSAY_PROGRAM, folder, arguments);
}

Outcome run_program(const std::filesystem::path& program, const std::filesystem::path& folder,
                    const Arguments& arguments) {
  const TemporaryFile out(std::tmpfile());
  const TemporaryFile err(std::tmpfile());
  Outcome outcome = wait_for(start(program, folder, arguments, ::fileno(out.get()), ::fileno(err.get())));
  outcome.out = content_of(out);
  outcome.err = content_of(err);
  return outcome;
}

Outcome run_assay_and_signal_its_child(const std::filesystem::path& folder, const Arguments& arguments, int signal) {
  const TemporaryFile out(std::tmpfile());
  const TemporaryFile err(std::tmpfile());
  const pid_t parent = start(ASSAY_PROGRAM, folder, arguments, ::fileno(out.get()), ::fileno(err.get()));
  const std::string number = std::to_string(parent);
  const std::string children = "/proc/" + number + "/task/" + number + "/children";
  pid_t child = 0;
  siginfo_t ended{};
  while (!(std::ifstream(children) >> child)) {
    if (::waitid(P_PID, static_cast<id_t>(parent), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != 0)
      break;
  }
  if (child > 0) ::kill(child, signal);
  Outcome outcome = wait_for(parent);
  outcome.out = content_of(out);
  outcome.err = content_of(err);
  return outcome;
}

Outcome interrupt_assay(const std::filesystem::path& folder, const Arguments& arguments, const std::string& phase,
                        int signal) {
  const TemporaryFile out(std::tmpfile());
  Terminal terminal;
  const pid_t child = start(ASSAY_PROGRAM, folder, arguments, ::fileno(out.get()), terminal.theirs);
  ::close(terminal.theirs);
  terminal.theirs = -1;
  std::string shown;
  bool sent = false;
  Clock::time_point at = Clock::now();
  char piece[4096];
  // Reading ends with an error when the last of the other ends is closed, which is when the child ends.
  for (ssize_t got = 0; (got = ::read(terminal.ours, piece, sizeof piece)) > 0;) {
    shown.append(piece, static_cast<std::size_t>(got));
    if (sent || shown.find(phase) == std::string::npos) continue;
    sent = true;
    at = Clock::now();
    ::kill(child, signal);
  }
  Outcome outcome = wait_for(child);
  outcome.after_interrupt_s = std::chrono::duration<double>(Clock::now() - at).count();
  outcome.out = content_of(out);
  outcome.err = shown;
  return outcome;
}

}  // namespace assay
