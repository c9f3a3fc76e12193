#include <algorithm>
#include <cmath>

#include "rules/rule_tables.h"

namespace assay {
namespace {

/// A counter that stands still gives no joules for a window in which work was done.
Judgement says_stuck(const Cell&, const Record& row) {
  if (!row.energy->energy_j || *row.energy->energy_j > 0 || row.latency->timed_s.value_or(1) <= 0) return {};
  return {
      fmt::format("{}'s meter ({}) gave {} J for its windows: its counter stood still, or its reading is broken.",
                  row.setting.precision, to_text(row.energy->energy_status), format_significant(*row.energy->energy_j)),
      {}};
}

/// Whether the bound of the energy, which its power shares, is as large as itself.
bool has_no_figure(const Energy& energy) {
  return energy.energy_j && energy.energy_uncertainty_j.value_or(0) >= std::abs(*energy.energy_j) &&
         *energy.energy_j != 0;
}

/// What works draws more than what idles. Where it does not, the meter watched another device.
Judgement says_idle_device(const Cell&, const Record& row) {
  if (row.energy->power_w.value_or(0) <= 0 || row.energy->idle_power_w.value_or(0) <= 0) return {};
  if (has_no_figure(*row.energy)) return {};
  if (*row.energy->power_w > 1.02 * *row.energy->idle_power_w) return {};
  return {
      fmt::format("{} drew {} W where idleness draws {} W: the meter ({}) watched a device that did not work, or the "
                  "idle baseline was taken under load.",
                  row.setting.precision, format_significant(*row.energy->power_w),
                  format_significant(*row.energy->idle_power_w), to_text(row.energy->energy_status)),
      {}};
}

Judgement says_short_window(const Cell&, const Record& row) {
  if (row.energy->energy_short_share.value_or(0) <= 0) return {};
  return {fmt::format("{} of {}'s windows are shorter than 20 steps of the meter: its joules are off by more than 5 %.",
                      percent(*row.energy->energy_short_share), row.setting.precision),
          {}};
}

Judgement says_no_idle(const Cell&, const Record& row) {
  if (!row.energy->energy_j || row.energy->idle_power_w) return {};
  return {fmt::format("{}'s energy is gross only: no idle power was measured to take from it.", row.setting.precision),
          {}};
}

/// Two rows of a cell refer to one machine; an idle power that moves between them is no baseline.
Judgement says_idle_drift(const Cell& cell, const Record& row) {
  if (!cell.baseline || !row.energy->idle_power_w || cell.baseline->energy->idle_power_w.value_or(0) <= 0) return {};
  const double change = *row.energy->idle_power_w / *cell.baseline->energy->idle_power_w - 1;
  if (change <= 0.1 && change >= -0.1) return {};
  return {fmt::format("the idle power beside {} is {} W, beside {} {} W: net energies do not compare.",
                      row.setting.precision, format_significant(*row.energy->idle_power_w),
                      cell.baseline->setting.precision, format_significant(*cell.baseline->energy->idle_power_w)),
          {}};
}

/// Others drew power in one of the two that was not drawn in the other.
Judgement says_busy_windows(const Cell&, const Record& row) {
  constexpr double told_processors = 0.1;
  const double idle = row.energy->idle_busy_processors.value_or(0);
  const double windows = row.energy->energy_foreign_processors.value_or(0);
  if (!row.energy->energy_j || std::max(idle, windows) <= told_processors) return {};
  return {fmt::format("others kept {} processors busy in {}'s energy windows, and {} were busy while idle power was "
                      "read: what they may have drawn is in the uncertainty of gross and net.",
                      format_significant(windows, 2), row.setting.precision, format_significant(idle, 2)),
          {}};
}

/// Energy over power is time: of what ran in the windows that were metered. Of phases both are of the same windows.
std::optional<double> metered_run_ms(const Record& row) {
  const double power_w = row.energy->power_w.value_or(0);
  if (!row.energy->energy_j || power_w <= 0 || row.setting.mode == Mode::phase) return std::nullopt;
  return 1e3 * *row.energy->energy_j * static_cast<double>(row.setting.batch) / power_w;
}

Judgement says_other_time(const Cell&, const Record& row) {
  constexpr double most_apart = 1.1;
  const auto metered_ms = metered_run_ms(row);
  if (!metered_ms || row.latency->median_ms.value_or(0) <= 0) return {};
  const double median_ms = *row.latency->median_ms;
  const auto [low, high] =
      std::minmax({median_ms, row.latency->mean_ms.value_or(median_ms)});  // Values, no references.
  if (*metered_ms <= most_apart * high && *metered_ms * most_apart >= low) return {};
  return {
      fmt::format("{}'s energy over its power is {} ms a pass, its latency {} ms: the windows that were metered "
                  "were not like those that were timed.",
                  row.setting.precision, format_significant(*metered_ms), format_significant(*row.latency->median_ms)),
      {}};
}

constexpr Rule energies[] = {
    {.id = "busy_energy",
     .kind = RuleKind::finding,
     .evidence = "energy_foreign_processors, idle_busy_processors",
     .states = "More than a tenth of a processor was busy with other work in energy windows, or in the idle baseline.",
     .judge = says_busy_windows,
     .severity = Severity::medium,
     .remedy = "Stop what else runs, and measure energy again."},
    {.id = "energy_time",
     .kind = RuleKind::finding,
     .evidence = "energy_j, power_w, median_ms, mean_ms",
     .states = "Energy over power is more than 10 % off median and mean latency.",
     .judge = says_other_time,
     .severity = Severity::medium,
     .remedy = "Measure again when the machine is free: windows for energy were slower, or faster, than the samples."},
    {.id = "stuck_counter",
     .kind = RuleKind::finding,
     .evidence = "energy_j, timed_s",
     .states = "Windows with work in them gave no joules.",
     .judge = says_stuck,
     .severity = Severity::high,
     .remedy = "Read the counter by hand twice; use another meter where it stands still."},
    {.id = "idle_device_energy",
     .kind = RuleKind::finding,
     .evidence = "power_w, idle_power_w",
     .states = "Power under load is within 2 % of idle power: the energy is of a device that did not work.",
     .judge = says_idle_device,
     .severity = Severity::high,
     .remedy = "Read the meter of the device that works, and take the idle baseline while nothing runs."},
    {.id = "short_energy_window",
     .kind = RuleKind::finding,
     .evidence = "energy_short_share",
     .states = "Windows shorter than 20 steps or updates of the meter.",
     .judge = says_short_window,
     .severity = Severity::medium,
     .remedy = "Repeat the work within a window until it spans 20 updates."},
    {.id = "no_idle_baseline",
     .kind = RuleKind::finding,
     .evidence = "energy_j, idle_power_w",
     .states = "Energy without a measured idle power.",
     .judge = says_no_idle,
     .severity = Severity::low,
     .remedy = "Measure idle power before and after, and give net energy too."},
    {.id = "idle_drift",
     .kind = RuleKind::finding,
     .evidence = "idle_power_w of the row and of the baseline",
     .states = "Idle powers of one cell differ by more than 10 %.",
     .judge = says_idle_drift,
     .severity = Severity::medium,
     .remedy = "Let the machine settle, and measure idle power around each window."},
};

}  // namespace

std::span<const Rule> energy_rules() {
  return energies;
}

}  // namespace assay
