#include "measure/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "measure/memory.h"
#include "measure/start_program.h"

namespace assay {
namespace {

constexpr const char* shell_characters = "\"'\\$`|&;<>()*?[]#~={}!\n";

/// Whether a shell finds something to do in it: a line that is neither blank nor a comment.
bool has_a_command(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string::npos && line[first] != '#') return true;
  }
  return false;
}

bool is_of_measuring(std::string_view entry) {
  return entry.starts_with("ASSAY_MARKERS_") || entry.starts_with("ASSAY_MEASURED_");
}

/// The descriptor's inode lets a marker's writer see that a descriptor it inherited by chance is not this pipe.
std::vector<std::string> environment_with_markers(int markers, const std::vector<std::string>& without) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool is_left_out = std::ranges::find(without, text.substr(0, text.find('='))) != without.end();
    if (!is_left_out && !is_of_measuring(text)) result.emplace_back(text);
  }
  struct stat facts {};
  if (markers < 0 || ::fstat(markers, &facts) != 0) return result;
  result.push_back("ASSAY_MARKERS_FD=" + std::to_string(markers));
  result.push_back("ASSAY_MARKERS_INODE=" + std::to_string(facts.st_ino));
  return result;
}

class Child {
 public:
  Child(const ChildCommand& command, const ChildOptions& options) : command_(command), options_(options) {}

  ChildRun run() {
    if (options_.output == ChildOutput::kept) kept_ = make_unnamed_file();
    Pipe markers;
    if (options_.on_markers) markers = pipe_from_program();
    PreparedProgram child(start_of(markers.theirs.get()));
    if (const auto mine = read_resident_memory()) own_peak_bytes_ = mine->peak_bytes;
    run_.begin_s = now_s();
    start(child);
    markers.theirs = Descriptor();
    markers_ = std::move(markers.ours);
    if (markers_) ::fcntl(markers_.get(), F_SETFL, O_NONBLOCK);
    follow();
    if (kept_) run_.output_end = end_of(kept_);
    return run_;
  }

 private:
  ProgramStart start_of(int markers) const {
    const int output = kept_ ? kept_.get() : STDERR_FILENO;
    ProgramStart start{.words = command_.words,
                       .environment = environment_with_markers(markers, options_.without),
                       .output = output,
                       .error = output,
                       .kept = markers,
                       .folder = {}};
    if (options_.left_behind != nullptr)
      start.environment.push_back(options_.left_behind->environment_entry(options_.program));
    return start;
  }

  void start(PreparedProgram& child) {
    process_ = child.start();
    if (process_ < 0) fail_lacking("{}: clone: {}", command_.words[0], std::strerror(errno));
    if (child.error() == 0) return;
    reap();
    fail_user("{}: {}", command_.words[0], std::strerror(child.error()));
  }

  /// Waits for the end, meanwhile handing on markers and ticks.
  void follow() {
    const Descriptor ended(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
    double next_tick_s = run_.begin_s + options_.tick_s;
    while (!has_ended(ended)) {
      take_markers();
      end_if_interrupted();
      if (watches_what_is_left()) options_.left_behind->look(process_, options_.program);
      if (options_.tick_s <= 0 || now_s() < next_tick_s) continue;
      if (options_.on_tick) options_.on_tick();
      next_tick_s = now_s() + options_.tick_s;
    }
    take_markers();
  }

  bool has_ended(const Descriptor& ended) {
    std::array<pollfd, 2> waiting = {pollfd{ended.get(), POLLIN, 0}, pollfd{markers_.get(), POLLIN, 0}};
    ::poll(waiting.data(), waiting.size(), patience_ms(ended));
    if ((waiting[1].revents & POLLHUP) != 0 && (waiting[1].revents & POLLIN) == 0) markers_ = Descriptor();
    if (ended && (waiting[0].revents & POLLIN) == 0) return false;
    return try_reap(WNOHANG);
  }

  /// While something that earlier runs left may be a daemon, or not.
  bool watches_what_is_left() const { return options_.left_behind != nullptr && options_.left_behind->is_unsettled(); }

  /// Without a descriptor that tells the end (before Linux 5.3), looking once a millisecond does.
  int patience_ms(const Descriptor& ended) const {
    if (!ended) return 1;
    const int most_ms = interrupted_s_ > 0 || options_.interrupted != nullptr || watches_what_is_left() ? 100 : -1;
    if (options_.tick_s <= 0) return most_ms;
    const int tick_ms = std::max(1, static_cast<int>(options_.tick_s * 1e3));
    return most_ms < 0 ? tick_ms : std::min(most_ms, tick_ms);
  }

  bool try_reap(int flags) {
    int status = 0;
    rusage usage{};
    const pid_t got = ::wait4(process_, &status, flags, &usage);
    if (got == 0 || (got < 0 && errno == EINTR)) return false;
    run_.wall_s = now_s() - run_.begin_s;
    run_.user_s = seconds(usage.ru_utime);
    run_.system_s = seconds(usage.ru_stime);
    const std::int64_t peak_bytes = usage.ru_maxrss * 1024;
    run_.peak_bytes = peak_bytes > own_peak_bytes_ + pages_written_before_exec ? peak_bytes : 0;
    if (WIFEXITED(status)) run_.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) run_.signal = WTERMSIG(status);
    return true;
  }

  void reap() {
    while (!try_reap(0)) {
    }
  }

  void take_markers() {
    std::array<char, 1 << 16> block;
    while (markers_) {
      const ssize_t got = ::read(markers_.get(), block.data(), block.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return;
      options_.on_markers({block.data(), static_cast<std::size_t>(got)});
    }
  }

  void end_if_interrupted() {
    if (options_.interrupted == nullptr || !options_.interrupted->load()) return;
    if (interrupted_s_ == 0) {
      interrupted_s_ = now_s();
      run_.was_interrupted = true;
      ::kill(-process_, SIGINT);
    } else if (now_s() - interrupted_s_ > options_.grace_s) {
      ::kill(-process_, SIGKILL);
    }
  }

  const ChildCommand& command_;
  const ChildOptions& options_;
  ChildRun run_;
  Descriptor kept_;
  Descriptor markers_;
  pid_t process_ = 0;
  static constexpr std::int64_t pages_written_before_exec = 1 << 20;
  std::int64_t own_peak_bytes_ = 0;  ///< Of this process.
  double interrupted_s_ = 0;         ///< 0: not.
};

}  // namespace

ChildCommand parse_command(const std::vector<std::string>& words) {
  ChildCommand command;
  for (const std::string& word : words) command.text += (command.text.empty() ? "" : " ") + word;
  if (words.size() > 1) {
    command.words = words;
  } else if (!has_a_command(command.text)) {
    fail_user("a command is {}", command.text.find('#') == std::string::npos ? "empty" : "only a comment");
  } else if (command.text.find_first_of(shell_characters) != std::string::npos) {
    command.words = {"/bin/sh", "-c", command.text};
  } else {
    std::istringstream text(command.text);
    for (std::string word; text >> word;) command.words.push_back(word);
  }
  if (command.words.empty() || command.words[0].empty()) fail_user("a command is empty");
  return command;
}

ChildRun run_child(const ChildCommand& command, const ChildOptions& options) {
  return Child(command, options).run();
}

}  // namespace assay
