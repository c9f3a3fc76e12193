#pragma once

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace assay {

/// Both ends of a pipe, closed in programs that are started later.
struct Pipe {
  Descriptor ours;
  Descriptor theirs;
};
/// What they write, and what we write to them.
Pipe pipe_from_program();
Pipe pipe_to_program();

/// A file without a name, for what a program says.
Descriptor make_unnamed_file();
/// Its last 4 kB.
std::string end_of(const Descriptor& file);

/// What a program begins with.
struct ProgramStart {
  std::vector<std::string> words;        ///< Looked up on PATH; no shell sees them.
  std::vector<std::string> environment;  ///< All of it, "NAME=value".
  int input = -1;                        ///< -1: empty.
  int output = -1;
  int error = -1;
  int kept = -1;                 ///< A descriptor that stays open in it; -1: none.
  std::filesystem::path folder;  ///< It works there; empty: where this process does.
};

/// What its first moments need, made before: until its exec it shares our memory, so that nothing may be allocated.
class PreparedProgram {
 public:
  explicit PreparedProgram(ProgramStart start);
  PreparedProgram(const PreparedProgram&) = delete;
  PreparedProgram& operator=(const PreparedProgram&) = delete;

  /// The process, after its exec or the failure of it; -1 where there can be none. It leads a process group of its own,
  /// which gets SIGKILL when this process dies. As vfork(2): our page tables are not copied, which took longer than a
  /// small program runs.
  pid_t start();
  int error() const { return error_; }  ///< errno of a failed exec; 0: it went well.

 private:
  static int become_program(void* prepared);

  ProgramStart start_;
  std::vector<char*> words_;
  std::vector<char*> environment_;
  std::vector<char> stack_;
  sigset_t blocked_{};  ///< Signals that were, before all are for the time of the start.
  int error_ = 0;
};

}  // namespace assay
