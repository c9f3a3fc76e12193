#include "measure/companion.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/printable.h"
#include "measure/memory.h"
#include "measure/start_program.h"

namespace assay {
namespace {

using Kind = CompanionReply::Kind;

/// How often an interrupt is looked for while an answer is waited for.
constexpr int longest_look_ms = 100;
/// From the end of its output to its own.
constexpr double end_grace_s = 2;

std::string name_of_entry(const std::string& entry) {
  return entry.substr(0, entry.find('=') + 1);
}

/// Ours with its own in the place of what has the same names, without what it is not to have.
std::vector<std::string> companion_environment(const CompanionStart& start) {
  std::set<std::string> others;
  for (const std::string& entry : start.environment) others.insert(name_of_entry(entry));
  for (const std::string& name : start.without) others.insert(name + "=");
  std::vector<std::string> result = start.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!others.contains(name_of_entry(*entry))) result.emplace_back(*entry);
  }
  return result;
}

/// The last line that says something.
std::string last_words(const std::string& text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const auto begin = text.find_last_of('\n', end);
  const std::size_t first = begin == std::string::npos ? 0 : begin + 1;
  return printable_error(text.substr(first, end - first + 1), 300);
}

std::string ending_words(int exit_code) {
  if (exit_code <= 128) return fmt::format("its process ended with exit code {}", exit_code);
  if (exit_code == 128 + SIGKILL) return "its process was killed (SIGKILL): memory ran out, likely, or somebody did";
  const char* name = ::sigabbrev_np(exit_code - 128);
  return fmt::format("its process died of {}",
                     name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", exit_code - 128));
}

/// Waits for the end of the process, so long at most; whether it came.
bool wait_for_end(pid_t process, double most_s, int& status) {
  constexpr timespec pause = {0, 2'000'000};
  for (const double end_s = now_s() + most_s; ::waitpid(process, &status, WNOHANG) == 0;) {
    if (now_s() >= end_s) return false;
    ::nanosleep(&pause, nullptr);
  }
  return true;
}

}  // namespace

Companion::Companion(const CompanionStart& start)
    : name_(start.words.front()), interrupted_(start.interrupted), errors_(make_unnamed_file()) {
  Pipe input = pipe_to_program();
  Pipe output = pipe_from_program();
  PreparedProgram program({.words = start.words,
                           .environment = companion_environment(start),
                           .input = input.theirs.get(),
                           .output = output.theirs.get(),
                           .error = errors_.get(),
                           .folder = start.folder});
  process_ = program.start();
  if (process_ < 0) fail_lacking("{}: clone: {}", name_, std::strerror(errno));
  if (program.error() != 0) {
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
    fail_user("{}: {}", name_, std::strerror(program.error()));
  }
  input_ = std::move(input.ours);
  output_ = std::move(output.ours);
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(input_.get(), F_SETFL, O_NONBLOCK);
}

Companion::~Companion() {
  if (process_ > 0) end_group();
}

void Companion::end_group() {
  ::kill(-process_, SIGKILL);
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  process_ = 0;
}

std::string Companion::said() const {
  return end_of(errors_);
}

void Companion::stop() {
  if (process_ <= 0 || is_stopped_) return;
  ::kill(-process_, SIGSTOP);
  is_stopped_ = true;
}

void Companion::resume() {
  if (process_ > 0 && is_stopped_) ::kill(-process_, SIGCONT);
  is_stopped_ = false;
}

/// Its output has ended: so has it, or it is about to.
CompanionReply Companion::ended() {
  int status = 0;
  std::string how = "its process closed its output, and was ended";
  if (wait_for_end(process_, end_grace_s, status)) {
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ::kill(-process_, SIGKILL);  // What it started.
    process_ = 0;
    how = ending_words(exit_code_);
  } else {
    end_group();
  }
  const std::string words = last_words(said());
  end_ = CompanionReply{Kind::ended, how + (words.empty() ? "" : ": " + words)};
  return *end_;
}

CompanionReply Companion::give_up(Kind kind, const std::string& sentence) {
  end_group();
  end_ = CompanionReply{kind, sentence};
  return *end_;
}

/// False where it no longer reads (whoever measures ignores SIGPIPE). A program that does not read is waited for as
/// long as for an answer, which then will not come.
bool Companion::write_line(std::string line, double end_s) {
  line += '\n';
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t wrote = ::write(input_.get(), line.data() + done, line.size() - done);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
    if (wrote < 0 && errno == EAGAIN) {
      pollfd room{input_.get(), POLLOUT, 0};
      ::poll(&room, 1, longest_look_ms);
      if (now_s() >= end_s || is_set(interrupted_)) return true;
    } else if (wrote < 0 && errno != EINTR) {
      return false;
    }
  }
  return true;
}

std::optional<std::string> Companion::take_line() {
  const auto end = heard_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = heard_.substr(0, end);
  heard_.erase(0, end + 1);
  return line;
}

CompanionReply Companion::hear(double most_s) {
  if (end_) return *end_;
  resume();
  return hear(most_s, now_s() + most_s);
}

CompanionReply Companion::hear(double most_s, double end_s) {
  std::array<char, 1 << 16> block;
  while (true) {
    if (auto line = take_line()) return {Kind::answered, std::move(*line)};
    if (heard_.size() > longest_reply) return give_up(Kind::silent, "its process said more than a line");
    const double left_s = end_s - now_s();
    if (left_s <= 0)
      return give_up(Kind::silent,
                     fmt::format("its process gave no answer within {:.6g} s: it hung, or is too slow", most_s));
    if (is_set(interrupted_)) return give_up(Kind::interrupted, "interrupted");
    pollfd waiting{output_.get(), POLLIN, 0};
    ::poll(&waiting, 1, std::clamp(static_cast<int>(left_s * 1e3), 1, longest_look_ms));
    const ssize_t got = ::read(output_.get(), block.data(), block.size());
    if (got > 0) heard_.append(block.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return ended();
  }
}

CompanionReply Companion::ask(const std::string& line, double most_s) {
  if (end_) return *end_;
  ASSAY_ASSERT(line.find('\n') == std::string::npos);
  resume();
  const double end_s = now_s() + most_s;
  if (!write_line(line, end_s)) return ended();
  return hear(most_s, end_s);
}

double Companion::processor_s() const {
  clockid_t clock = 0;
  timespec time{};
  if (process_ <= 0 || ::clock_getcpuclockid(process_, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::optional<std::int64_t> Companion::peak_bytes() const {
  if (process_ <= 0) return std::nullopt;
  const auto memory = read_resident_memory("/", std::to_string(process_));
  return memory ? std::optional(memory->peak_bytes) : std::nullopt;
}

}  // namespace assay
