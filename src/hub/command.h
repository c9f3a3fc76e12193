#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/handle.h"

namespace assay {

/// While it lives, those of SIGINT, SIGTERM and SIGHUP that are not ignored are remembered instead of ending the
/// process, and kill the command that runs.
struct SavedSignals;
void restore_signals(SavedSignals* saved);
using InterruptScope = Handle<SavedSignals*, restore_signals>;
InterruptScope catch_interrupts();
/// The one that has come since; 0: none.
int pending_interrupt();
/// Throws Error(interrupted) where one of them has come since; `what` begins the message.
void throw_if_interrupted(const std::string& what);

/// Where a command runs: where this program does, or in its own folder, so that nothing that lies about is taken for a
/// program or a module.
enum class WorkingFolder : std::uint8_t { current, own };

struct Command {
  std::vector<std::string> words;  ///< Program (looked up on PATH) and arguments; no shell sees them.
  std::filesystem::path folder;    ///< An existing one, for its log and as its TMPDIR.
  double most_s = 0;               ///< It is killed after so long; 0: never.
  WorkingFolder working_folder = WorkingFolder::current;
};

struct CommandResult {
  int exit_code = 0;     ///< 127 where the program was not found or could not start; 128 + signal where one ended it.
  std::string output;    ///< The last 16 kB of stdout and stderr together.
  double wall_s = 0;     ///< From its start to its end.
  bool overran = false;  ///< It was killed after `most_s`.
};

/// Runs it to its end, in a process group of its own, its input empty. Throws a user error where the log cannot be
/// made.
CommandResult run_command(const Command& command);

}  // namespace assay
