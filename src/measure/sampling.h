#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/device_time.h"
#include "base/interrupt.h"
#include "measure/energy.h"
#include "measure/gpu_conditions.h"
#include "measure/series.h"
#include "statistics/statistics.h"

namespace assay {

/// Something to be timed. `run` returns when its device is idle. `read_result` reads one figure of the result, so that
/// no part of the work is dead code; it is called outside the timed window.
struct Subject {
  std::string name;
  std::function<void()> run;
  std::function<double()> read_result;
  /// Makes `run` take that input, of SamplingOptions::inputs; called outside the timed windows.
  std::function<void(std::size_t input)> take{};
  /// Runs it once more and says what the device took. Empty, or absent results: there is no device apart.
  std::function<std::optional<DeviceTime>()> time_on_device{};
  /// What the last run took by a clock of its own, seconds, without what `run` does before and after. Empty: the time
  /// around `run`.
  std::function<double()> last_run_s{};
  /// Whether it can be run no more, as its program has ended: from then on it takes no part, and the window that it was
  /// lost in is no sample. Empty: never.
  std::function<bool()> is_lost{};
};

/// A clock, and the smallest step it can tell.
struct Clock {
  std::function<double()> now_s;
  double resolution_s = 0;
};
/// The monotonic clock with its measured step.
Clock monotonic_clock();

struct SamplingProgress {
  const char* phase;  ///< "first run", "warm-up", "sampling".
  const std::string& subject;
  double share_done;    ///< 0 to 1, of the budget or of the rounds asked.
  double seconds_left;  ///< At most.
};

/// What is known when all subjects are warm.
struct SamplingStart {
  double first_runs_s = 0;  ///< Of all subjects together.
  double round_s = 0;       ///< A run of each, warm.
  double warm_up_s = 0;     ///< What the warm-up has spent of the budget.
};

/// Whether the window that an interrupt came in is a sample: it is where its work runs on to its end, and not where the
/// interrupt ends it.
enum class InterruptedWindow : std::uint8_t { kept, dropped };

/// Where the rule for a steady warm-up is never met, it ends at this share of the budget.
constexpr double warm_up_share = 0.2;

struct SamplingOptions {
  double seconds = 5;  ///< Budget for each subject, warm-up included, first runs not; spent in common.
  /// The budget where it depends on how long all subjects took so far; empty: `seconds`.
  std::function<double(const SamplingStart&)> seconds_after_start{};
  int least_rounds = 1;  ///< Whatever the budget.
  double width = 0.02;   ///< Asked: width of the 95 % interval of the median, relative to the median.
  int rounds = 0;        ///< Exactly so many rounds instead of the rule of width and budget; 0: by the rule.
  std::uint64_t seed = 1;
  /// Where subjects have several inputs: how many. Each round all take the same one, drawn without putting it back
  /// until all were drawn; one of them is for first runs and warm-up.
  std::size_t inputs = 0;
  std::size_t warm_up_input = 0;
  std::uint64_t draw_seed = 1;
  double least_window_s = 0;  ///< A window is made at least this long (for a meter with slow updates).
  double most_first_run_s = std::numeric_limits<double>::infinity();
  EnergyMeter* meter = nullptr;
  std::vector<EnergyMeter*> other_meters{};  ///< Read around the same windows.
  double energy_window_s = 0;   ///< Energy is measured apart, in windows so long; 0: in those of the rounds.
  double cool_down_s = 0;       ///< Of rest before each window apart.
  double usual_processors = 0;  ///< Busy though nothing runs; a window apart with quiet_processors more is repeated.
  std::function<double(double)> rest = sleep_s;
  std::function<void()> before_run{};    ///< Called untimed before each run of a window (to empty the caches).
  std::function<GpuConditions()> gpu{};  ///< Of the GPU that works; empty: none does. See `throttled_rounds`.
  InterruptedWindow interrupted_window = InterruptedWindow::kept;
  InterruptFlag interrupted = nullptr;  ///< Set by a signal handler; ends the loop between two windows.
  std::function<void(const SamplingProgress&)> progress;
  std::filesystem::path root = "/";  ///< Where the conditions are read.
  ReadCounters counters{};           ///< Empty: those under `root`.
  Clock clock = monotonic_clock();
};

/// As the options say.
Counters read_counters(const SamplingOptions& options);

/// Runs the subjects interleaved, each once a round in a new random order, until every one's interval is as narrow as
/// asked, the time is used up, or the user interrupts; see docs/measuring.md for every rule. All series have the same
/// number of rounds, but for a last one that was interrupted. What a subject throws goes through.
///
/// A round in which a GPU's clocks were held down before or after a window is left out, whole, and counted, where
/// may_leave_out allows it; else it counts: see Conditions::throttle_reasons.
std::vector<Series> sample(std::span<const Subject> subjects, const SamplingOptions& options);

/// Whether the last runs of a warm-up are steady: the medians of the last three and of the three before differ by no
/// more than 5 %.
bool is_steady(std::span<const double> warm_up_ms);

}  // namespace assay
