#pragma once

#include <string>
#include <vector>

namespace assay {

/// What runs and how long is left, on stderr: one line rewritten in place on a terminal. Elsewhere nothing is shown
/// in the first minute, so that a failure is exactly one line: sentences that stay wait for the end, and a failure
/// drops them. What takes longer shows what it does once a minute, with the sentences that waited until then.
///
/// A program that started this one may listen: where ASSAY_PROGRESS_FD names a pipe that it handed on (and
/// ASSAY_PROGRESS_INODE, where set, its inode), each step is a line of JSON there, {"doing": TEXT, "seconds_left":
/// NUMBER or null}, and each sentence that stays another, {"said": TEXT}. Who does not read loses lines and holds
/// nothing up. Nothing is shown each minute then. See end_with_listener().
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  void show(const std::string& what, double seconds_left);
  void say(const std::string& sentence);  ///< A line that stays.
  void clear();
  /// Clears, and hands over the sentences that waited.
  std::vector<std::string> take();
  /// The work succeeded: clears, and prints what waited.
  void finish();

 private:
  void show_now_and_then(const std::string& what, double seconds_left);

  bool terminal_;
  int listener_;  ///< -1: none.
  std::string last_;
  double shown_s_ = 0;
  const double begin_s_;
  double told_s_;  ///< When it was last told without a terminal, or began.
  std::vector<std::string> waiting_;
};

/// From now on this process is ended in good order (SIGTERM, where it is not being ended already), with what it
/// measures, once nobody holds the reading end of that pipe any more: who listened has ended, whatever the signal, and
/// nobody else can end this one.
void end_with_listener();

}  // namespace assay
