#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/printable.h"
#include "base/streams.h"

namespace assay {

Progress::Progress() : terminal_(::isatty(STDERR_FILENO) != 0) {}

void Progress::show(const std::string& what, double seconds_left) {
  if (!terminal_) return;
  constexpr double least_s_between = 0.1;
  if (now_s() - shown_s_ < least_s_between && what == last_) return;
  shown_s_ = now_s();
  last_ = what;
  const std::string left = seconds_left >= 1 ? fmt::format(", {:.0f} s left", seconds_left) : "";
  tell_terminal(fmt::format("\r\x1b[K{:.110}{}", printable(what, 200), left));
}

void Progress::say(const std::string& sentence) {
  clear();
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

void Progress::finish() {
  clear();
  for (const std::string& sentence : waiting_) tell(sentence + "\n");
  waiting_.clear();
}

}  // namespace assay
