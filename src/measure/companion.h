#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/interrupt.h"

namespace assay {

/// How a companion is started.
struct CompanionStart {
  std::vector<std::string> words;             ///< Looked up on PATH; no shell sees them.
  std::vector<std::string> environment = {};  ///< "NAME=value": beside what this process has, or in its place.
  std::vector<std::string> without = {};      ///< Names of what it is not handed on.
  std::filesystem::path folder = {};          ///< It works there; empty: where this process does.
  InterruptFlag interrupted = nullptr;        ///< Ends waiting for an answer.
};

/// What came of a question.
struct CompanionReply {
  enum class Kind : std::uint8_t {
    answered,    ///< `text` is the line, without its end.
    ended,       ///< The program has ended; `text` is a sentence that says how, with the last line of its stderr.
    silent,      ///< No answer in time, or one that is too long: it was killed. `text` is a sentence.
    interrupted  ///< It was killed as an interrupt came.
  };
  Kind kind = Kind::answered;
  std::string text = {};
};

/// The longest line that is taken for an answer, bytes.
constexpr std::size_t longest_reply = 1 << 20;

/// A program that stays beside this one and answers lines on its input with lines on its output. It leads a process
/// group of its own, which is stopped between its turns, so that no thread of it spins on the processors of others, and
/// which ends with this object or with this process.
class Companion {
 public:
  /// Throws a user error that names a program which cannot be started, Error(lacking) where there can be no process.
  explicit Companion(const CompanionStart& start);
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;
  ~Companion();

  /// Lets it go on where it was stopped, hands it the line (which holds no line end) and waits for the one that it
  /// answers, `most_s` at most. Once it has ended every question gets the same sentence.
  CompanionReply ask(const std::string& line, double most_s);
  /// The next line that it says by itself.
  CompanionReply hear(double most_s);
  /// Stops all of its processes (SIGSTOP) until the next question.
  void stop();
  /// What it says on stderr, the last 4 kB.
  std::string said() const;

  bool has_ended() const { return end_.has_value(); }
  /// Its exit code, 128 + signal where one ended it; 0 while it runs.
  int exit_code() const { return exit_code_; }
  /// Processor seconds of its first process, all threads, to the microsecond; 0 once it has been waited for: they are
  /// among those of this process's ended children then.
  double processor_s() const;
  /// The most that its first process has had in physical pages; absent where the system does not tell, or it has ended.
  std::optional<std::int64_t> peak_bytes() const;

 private:
  void resume();
  void end_group();
  CompanionReply ended();
  CompanionReply give_up(CompanionReply::Kind kind, const std::string& sentence);
  /// `most_s` ends at `end_s`.
  CompanionReply hear(double most_s, double end_s);
  bool write_line(std::string line, double end_s);
  std::optional<std::string> take_line();

  std::string name_;
  InterruptFlag interrupted_;
  Descriptor input_;
  Descriptor output_;
  Descriptor errors_;
  pid_t process_ = 0;  ///< 0: waited for.
  bool is_stopped_ = false;
  std::string heard_;
  int exit_code_ = 0;
  std::optional<CompanionReply> end_;
};

}  // namespace assay
