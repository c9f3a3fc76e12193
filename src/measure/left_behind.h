#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace assay {

/// What becomes of processes that a program leaves running.
enum class Daemons : std::uint8_t {
  stay,
  ended  ///< After each run: SIGTERM, SIGKILL daemon_grace_s later.
};

/// From SIGTERM to SIGKILL, seconds.
constexpr double daemon_grace_s = 2;
/// What ends by itself so soon after the run that left it (a helper that saw its pipe close) is no daemon, seconds.
constexpr double short_life_s = 0.1;

/// Of the runs of one program.
struct LeftCounts {
  std::int64_t left = 0;   ///< Processes that lived on for longer than short_life_s.
  std::int64_t alive = 0;  ///< Of these, alive still.
  std::int64_t ended = 0;  ///< Of these, ended on request.
};

/// What measured programs leave running. While it exists, a process that such a program leaves without a parent becomes
/// a child of this one (PR_SET_CHILD_SUBREAPER: a daemon that forked twice and has a session of its own does not get
/// away), where it is counted, ended and reaped. Only children are ever ended, which keeps their numbers from being
/// given to others; those that this process had before, and what these leave, are let alone. Processor time of what is
/// reaped here is kept out of this process's own: see leave_out_child_time().
class LeftBehind {
 public:
  explicit LeftBehind(Daemons daemons);
  LeftBehind(const LeftBehind&) = delete;
  LeftBehind& operator=(const LeftBehind&) = delete;
  /// Ends what is to be ended.
  ~LeftBehind();

  /// What the environment of the runs of `program` must hold, by which their descendants are known.
  std::string environment_entry(std::size_t program) const;
  /// Takes in what was left since, and reaps what has ended. `running` (0: none) is a child that somebody else waits
  /// for; `program` is whose run goes on or has just ended. One call of the kernel where this process has no children.
  void look(pid_t running, std::size_t program);
  /// Whether some of it is too young to be told a daemon.
  bool is_unsettled() const;
  /// Ends it where that is asked. To be called after each run.
  void after_run(std::size_t program);
  /// Waits until everything that is left is a daemon or gone, short_life_s at most.
  void settle();

  LeftCounts counts(std::size_t program) const;
  /// Those that live: "4127 sleep", ...
  std::vector<std::string> living(std::size_t program) const;

 private:
  struct Left {
    std::size_t program = 0;
    double since_s = 0;
    double asked_s = 0;  ///< When it got SIGTERM; 0: it did not.
    bool has_lasted = false;
  };
  void take_in(pid_t process, std::size_t program);
  void reap();
  void end_all();
  void ask_to_end();

  Daemons daemons_;
  int was_subreaper_ = 0;
  std::vector<pid_t> own_;  ///< Children of this process before.
  std::map<pid_t, Left> left_;
  bool has_undecided_ = false;  ///< A child that has no environment at the moment: whose it is, the next look may say.
  std::map<std::size_t, LeftCounts> gone_;  ///< By program; of what was reaped.
};

}  // namespace assay
