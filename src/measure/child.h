#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/interrupt.h"
#include "measure/left_behind.h"

namespace assay {

/// A program with its arguments.
struct ChildCommand {
  std::vector<std::string> words;  ///< Looked up on PATH; no shell sees them.
  std::string text;                ///< As it was given.
};

/// Several words are taken as they are. One string is split at its blanks, and given to `/bin/sh -c` where it has a
/// character that a shell would do something with (quotes, $, |, ;, &, <, >, *, ?, ~, and the like). Throws a user
/// error where nothing is left.
ChildCommand parse_command(const std::vector<std::string>& words);

enum class ChildOutput : std::uint8_t {
  shown,  ///< Its stdout and stderr both go to our stderr.
  kept    ///< To a temporary file; ChildRun has the end of it.
};

struct ChildOptions {
  ChildOutput output = ChildOutput::kept;
  InterruptFlag interrupted = nullptr;  ///< Set by a signal handler: the child is ended.
  double tick_s = 0;                    ///< How often on_tick is called meanwhile; 0: never.
  std::function<void()> on_tick{};
  /// What the child wrote to the descriptor that ASSAY_MARKERS_FD names, as it came. Absent: the child gets none.
  std::function<void(std::string_view bytes)> on_markers{};
  LeftBehind* left_behind = nullptr;   ///< Takes in what the child leaves running, while it runs; null: nobody.
  double grace_s = 2;                  ///< After SIGINT of an interrupted child, until SIGKILL.
  std::size_t program = 0;             ///< Which program's run it is, as left_behind tells them.
  std::vector<std::string> without{};  ///< Names of what it is not handed on of this process's environment.
};

/// One run.
struct ChildRun {
  double begin_s = 0;  ///< Monotonic clock, all prepared: next comes the call that makes the process.
  double wall_s = 0;   ///< Until it had ended and was waited for.
  double user_s = 0;   ///< Of it and of all its children that it waited for (wait4(2)).
  double system_s = 0;
  /// The largest resident set of any one of them. 0: no more than the most that this process has held (see
  /// reset_peak_memory()), which the kernel counts as the child's too.
  std::int64_t peak_bytes = 0;
  int exit_code = 0;
  int signal = 0;  ///< That ended it; 0: none.
  bool was_interrupted = false;
  std::string output_end;  ///< The last 4 kB of what was kept.
};

/// Runs it once: its input empty, in a process group of its own, which gets SIGINT where the run is interrupted and
/// SIGKILL grace_s later or when this process dies. This process's memory is not copied for it, however much that
/// is. Throws a user error that names a program which cannot be
/// started.
ChildRun run_child(const ChildCommand& command, const ChildOptions& options);

}  // namespace assay
