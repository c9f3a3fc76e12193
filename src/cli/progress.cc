#include "cli/progress.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/streams.h"
#include "cli/interrupt.h"

namespace assay {
namespace {

/// The pipe of who listens, or -1. A descriptor that this process got by chance under that number is not taken.
int open_listener() {
  const char* const number = std::getenv("ASSAY_PROGRESS_FD");
  if (number == nullptr) return -1;
  const std::string_view digits = number;
  int descriptor = -1;
  const auto [end, fault] = std::from_chars(digits.begin(), digits.end(), descriptor);
  if (fault != std::errc() || end != digits.end() || descriptor <= STDERR_FILENO) return -1;
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0 || !S_ISFIFO(facts.st_mode)) return -1;
  const char* const inode = std::getenv("ASSAY_PROGRESS_INODE");
  if (inode != nullptr && std::to_string(facts.st_ino) != inode) return -1;
  const int flags = ::fcntl(descriptor, F_GETFL);
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);  // Programs that this one starts have nothing to tell there.
  return flags >= 0 && ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 ? descriptor : -1;
}

/// One for the process, whose commands may show more than one progress.
int listener() {
  static const int descriptor = open_listener();
  return descriptor;
}

std::string left_words(double seconds_left) {
  return seconds_left >= 1 ? fmt::format(", {:.0f} s left", seconds_left) : "";
}

constexpr std::size_t longest_told = 600;  ///< Bytes; of six each where all are escaped: less than PIPE_BUF.

/// A line is shorter than PIPE_BUF, so that it is written whole or not at all.
void tell_listener(int descriptor, const OrderedJson& line) {
  const std::string text = line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  [[maybe_unused]] const ssize_t written = ::write(descriptor, text.data(), text.size());
}

}  // namespace

Progress::Progress()
    : terminal_(::isatty(STDERR_FILENO) != 0), listener_(listener()), begin_s_(now_s()), told_s_(begin_s_) {}

void Progress::show(const std::string& what, double seconds_left) {
  if (!terminal_ && listener_ < 0) return show_now_and_then(what, seconds_left);
  constexpr double least_s_between = 0.1;
  if (now_s() - shown_s_ < least_s_between && what == last_) return;
  shown_s_ = now_s();
  last_ = what;
  if (listener_ >= 0) {
    const OrderedJson left = seconds_left >= 1 ? OrderedJson(seconds_left) : OrderedJson(nullptr);
    tell_listener(listener_, {{"doing", printable(what, longest_told)}, {"seconds_left", left}});
  }
  if (!terminal_) return;
  tell_terminal(fmt::format("\r\x1b[K{:.110}{}", printable(what, 200), left_words(seconds_left)));
}

void Progress::show_now_and_then(const std::string& what, double seconds_left) {
  constexpr double seconds_between = 60;
  if (now_s() - told_s_ < seconds_between) return;
  told_s_ = now_s();
  finish();
  tell(fmt::format("after {:.0f} s: {:.200}{}\n", told_s_ - begin_s_, printable(what, 200), left_words(seconds_left)));
}

void Progress::say(const std::string& sentence) {
  clear();
  if (listener_ >= 0) tell_listener(listener_, {{"said", printable(sentence, longest_told)}});
  if (terminal_) {
    tell(sentence + "\n");
  } else {
    waiting_.push_back(sentence);
  }
}

void Progress::clear() {
  if (terminal_ && !last_.empty()) tell_terminal("\r\x1b[K");
  last_.clear();
}

std::vector<std::string> Progress::take() {
  clear();
  return std::exchange(waiting_, {});
}

void Progress::finish() {
  for (const std::string& sentence : take()) tell(sentence + "\n");
}

void end_with_listener() {
  if (listener() < 0) return;
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // The thread takes no signal that is meant to break off a wait.
  std::thread([] {
    pollfd pipe{listener(), 0, 0};
    while (::poll(&pipe, 1, -1) < 0 && errno == EINTR) {
    }
    if (!was_interrupted()) ::kill(::getpid(), SIGTERM);
  }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace assay
