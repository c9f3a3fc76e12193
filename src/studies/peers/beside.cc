#include "studies/peers/beside.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "measure/left_behind.h"
#include "measure/memory.h"
#include "studies/measure/runs.h"

namespace assay {
namespace {

constexpr const char* timed_phase = "pass";

void replace_all(const std::string& from, const std::string& to, std::string& text) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

class TimedBeside : public TimedEngine {
 public:
  TimedBeside(const std::string& command, InterruptFlag interrupted)
      : command_(parse_command({command})),
        interrupted_(interrupted),
        left_behind_(Daemons::ended),
        runs_(command_, 0, {nullptr, interrupted, left_behind_}) {}

  bool prepare(Record& /*record*/) override {
    reset_peak_memory();
    return true;
  }

  Subject subject(const std::string& name) override {
    return {.name = name,
            .run = [this] { run(); },
            .read_result =
                [this] {
                  runs_.end_group();
                  return 0.0;
                },
            .take = [](std::size_t) {},
            .last_run_s = [this] { return runs_.last_s(timed_phase); },
            .is_lost = [this] { return !fault_.empty() || is_set(interrupted_); }};
  }

  /// Its runs have been waited for: they count as ours already.
  double processor_s() const override { return 0; }

  void describe(Record& record) override {
    left_behind_.settle();
    std::int64_t peak = 0;
    for (const ObservedRun& one : runs_.all()) peak = std::max(peak, one.child.peak_bytes);
    if (peak > 0) record.memory.made().resident_bytes = peak;
    if (fault_.empty()) return;
    record.outcome.status = Status::crashed;
    record.outcome.reason = fault_;
    record.latency = Latency{};
    record.speedup.reset();
    record.energy.reset();
    record.rates = {};
  }

 private:
  void run() {
    if (!fault_.empty()) return;
    try {
      runs_.run(ChildOutput::kept);
    } catch (const Error& error) {
      fault_ = error.what();
    }
  }

  ChildCommand command_;
  InterruptFlag interrupted_;
  LeftBehind left_behind_;
  ProgramRuns runs_;
  std::string fault_;
};

}  // namespace

std::string command_for(const std::string& command, const BesideCell& cell) {
  std::string text = command;
  replace_all("{model}", cell.model, text);
  replace_all("{batch}", std::to_string(cell.batch), text);
  replace_all("{seq}", std::to_string(cell.seq), text);
  replace_all("{threads}", std::to_string(cell.threads), text);
  return text;
}

std::unique_ptr<TimedEngine> timed_beside(const std::string& command, const BesideCell& cell,
                                          InterruptFlag interrupted) {
  return std::make_unique<TimedBeside>(command_for(command, cell), interrupted);
}

}  // namespace assay
