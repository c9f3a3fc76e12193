#include "measure/start_program.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/paths.h"
#include "base/signals.h"

namespace assay {
namespace {

/// execvpe keeps a path there, and a copy of the words where a script lacks its first line.
constexpr std::size_t start_stack_bytes = 1 << 16;

std::array<Descriptor, 2> pipe_ends() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_lacking("pipe: {}", std::strerror(errno));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  all.reserve(words.size() + 1);
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

Pipe pipe_from_program() {
  auto [reading, writing] = pipe_ends();
  return {std::move(reading), std::move(writing)};
}

Pipe pipe_to_program() {
  auto [reading, writing] = pipe_ends();
  return {std::move(writing), std::move(reading)};
}

Descriptor make_unnamed_file() {
  std::string name = (temporary_folder() / "assay-output-XXXXXX").string();
  Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) fail_lacking("{}: {}", name, std::strerror(errno));
  ::unlink(name.c_str());
  return file;
}

std::string end_of(const Descriptor& file) {
  constexpr off_t most_bytes = 4096;
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return "";
  const off_t begin = facts.st_size > most_bytes ? facts.st_size - most_bytes : 0;
  std::string text(static_cast<std::size_t>(facts.st_size - begin), '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), begin);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

PreparedProgram::PreparedProgram(ProgramStart start)
    : start_(std::move(start)), words_(pointers(start_.words)), environment_(pointers(start_.environment)) {
  stack_.resize(start_stack_bytes + 2 * words_.size() * sizeof(char*));
}

/// The child's first function: only what is safe beside a parent whose memory it shares. Our handlers are gone before
/// a signal can come.
int PreparedProgram::become_program(void* prepared) {
  auto& child = *static_cast<PreparedProgram*>(prepared);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : changed_signals) ::signal(signal, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &child.blocked_, nullptr);
  const int input = child.start_.input >= 0 ? child.start_.input : ::open("/dev/null", O_RDONLY);
  if (input >= 0) ::dup2(input, STDIN_FILENO);
  ::dup2(child.start_.output, STDOUT_FILENO);
  ::dup2(child.start_.error, STDERR_FILENO);
  if (child.start_.kept >= 0) ::fcntl(child.start_.kept, F_SETFD, 0);
  const bool is_there = child.start_.folder.empty() || ::chdir(child.start_.folder.c_str()) == 0;
  if (is_there) ::execvpe(child.words_[0], child.words_.data(), child.environment_.data());
  child.error_ = errno;
  ::_exit(127);
}

pid_t PreparedProgram::start() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &blocked_);
  char* top = stack_.data() + (stack_.size() & ~std::size_t{63});
  const pid_t process = ::clone(become_program, top, CLONE_VM | CLONE_VFORK | SIGCHLD, this);
  ::pthread_sigmask(SIG_SETMASK, &blocked_, nullptr);
  return process;
}

}  // namespace assay
