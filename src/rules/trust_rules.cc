#include <algorithm>
#include <cmath>

#include "rules/rule_tables.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

/// Rate over the best matmul measured with the same operands, beyond which one of the two figures is in doubt.
constexpr double suspect_over_matmul = 1.1;

Judgement says_suspect(const Cell&, const Record& row) {
  const double pass_ms = work_ms(row).value_or(0);
  if (are_peaks_busy(row) || !row.evidence.matmul_ms || pass_ms <= 0) return {};
  if (*row.evidence.matmul_ms <= suspect_over_matmul * pass_ms) return {};
  return {fmt::format("{} is {} the rate of the best matmuls measured, which take {} ms for its products: suspect",
                      milliseconds(row), times(*row.evidence.matmul_ms / pass_ms),
                      format_significant(*row.evidence.matmul_ms)),
          {}};
}

Judgement says_busy_peaks(const Cell&, const Record& row) {
  if (!are_peaks_busy(row)) return {};
  return {
      fmt::format("the peaks were measured while others had the processors (it got {} of its time): no gate by them",
                  percent(*row.evidence.peaks_measured_share)),
      {}};
}

Judgement says_baseline_unsound(const Cell& cell, const Record& row) {
  const Record* baseline = unsound_baseline(cell, row);
  if (baseline == nullptr) return {};
  return {fmt::format("speed-up, divergence and changes are left out: {} is {} ({})", baseline->setting.precision,
                      name(baseline->outcome.status), baseline->outcome.reason.value_or("")),
          {}};
}

Judgement says_few(const Cell&, const Record& row) {
  if (row.latency->ci_low_ms && row.latency->ci_high_ms) return {};
  const std::int64_t samples = row.latency->samples;
  return {fmt::format("{} give{} no 95 % interval of the median",
                      samples == 1 ? "1 sample" : fmt::format("{} samples", samples), samples == 1 ? "s" : ""),
          {}};
}

double interval_width(const Record& row) {
  if (!row.latency->ci_low_ms || !row.latency->ci_high_ms || row.latency->median_ms.value_or(0) <= 0) return 0;
  return (*row.latency->ci_high_ms - *row.latency->ci_low_ms) / *row.latency->median_ms;
}

bool is_without_figure(const Record& row) {
  return interval_width(row) > 0 &&
         leaves_no_figure(*row.latency->median_ms, {*row.latency->ci_low_ms, *row.latency->ci_high_ms});
}

Judgement says_wide(const Cell&, const Record& row) {
  if (interval_width(row) <= 0.1 || is_without_figure(row)) return {};
  return {fmt::format("the interval of the median is {} wide", percent(interval_width(row))), {}};
}

Judgement says_no_figure(const Cell&, const Record& row) {
  if (!is_without_figure(row)) return {};
  return {fmt::format("all that is known of the median is that it lies between {} and {} ms",
                      format_significant(*row.latency->ci_low_ms), format_significant(*row.latency->ci_high_ms)),
          {}};
}

Judgement says_not_as_narrow(const Cell&, const Record& row) {
  if (!row.latency->asked_width || interval_width(row) <= *row.latency->asked_width) return {};
  return {fmt::format("the interval is {} wide where {} was asked; ended by {}", percent(interval_width(row)),
                      percent(*row.latency->asked_width),
                      row.latency->stopped_by ? name(*row.latency->stopped_by) : "an unknown cause"),
          {}};
}

Judgement says_load(const std::optional<double>& share, double above, double up_to) {
  if (!share || *share <= above || *share > up_to) return {};
  return {fmt::format("others used {} of the processors meanwhile", percent(*share)), {}};
}

Judgement says_load_unknown(const Cell&, const Record& row) {
  if (row.circumstances->foreign_load) return {};
  return {"what others used of the processors is not known", {}};
}

Judgement says_some_load(const Cell&, const Record& row) {
  return says_load(row.circumstances->foreign_load, 0.05, 0.2);
}
Judgement says_much_load(const Cell&, const Record& row) {
  return says_load(row.circumstances->foreign_load, 0.2, 0.5);
}
Judgement says_too_much_load(const Cell&, const Record& row) {
  return says_load(row.circumstances->foreign_load, 0.5, 1);
}

Judgement says_left_running(const Cell&, const Record& row) {
  const std::int64_t stayed = row.program_run->daemons_left.value_or(0) - row.program_run->daemons_ended.value_or(0);
  if (stayed <= 0) return {};
  return {fmt::format("{} processes that its runs left shared the processors with later samples", stayed), {}};
}

Judgement says_stolen(const std::optional<double>& share, double above, double up_to) {
  if (!share || *share <= above || *share > up_to) return {};
  return {fmt::format("the hypervisor withheld {} of the processor time", percent(*share)), {}};
}
Judgement says_stolen_unknown(const Cell&, const Record& row) {
  if (row.circumstances->stolen_share) return {};
  return {"what the hypervisor withheld is not known", {}};
}
Judgement says_some_stolen(const Cell&, const Record& row) {
  return says_stolen(row.circumstances->stolen_share, 0.01, 0.05);
}
Judgement says_much_stolen(const Cell&, const Record& row) {
  return says_stolen(row.circumstances->stolen_share, 0.05, 1);
}

Judgement says_frequency(const Cell&, const Record& row) {
  if (row.circumstances->frequency_before_mhz.value_or(0) <= 0 || !row.circumstances->frequency_after_mhz) return {};
  const double change = *row.circumstances->frequency_after_mhz / *row.circumstances->frequency_before_mhz - 1;
  if (std::abs(change) <= 0.05) return {};
  return {fmt::format("the clock moved from {:.0f} to {:.0f} MHz", *row.circumstances->frequency_before_mhz,
                      *row.circumstances->frequency_after_mhz),
          {}};
}

Judgement says_unsteady(const Cell&, const Record& row) {
  if (row.latency->steady.value_or(true)) return {};
  return {"the warm-up had not become steady when its time was used up", {}};
}

Judgement says_short_warm_up(const Cell&, const Record& row) {
  const auto ratio = short_warm_up(row);
  if (!ratio) return {};
  if (!row.setting.warmup_steps)
    return {fmt::format("the first samples took {} what later ones did", times(*ratio)), {}};
  return {
      fmt::format("the first step after a warm-up of {} took {} the median", *row.setting.warmup_steps, times(*ratio)),
      {}};
}

/// Batches of data differ in length, and their times with them.
Judgement says_tail(const Cell&, const Record& row) {
  if (row.setting.timed_inputs == InputsOf::data || !row.latency->p90_ms || !row.latency->p10_ms ||
      !row.latency->median_ms || *row.latency->p90_ms - *row.latency->p10_ms <= 0.3 * *row.latency->median_ms)
    return {};
  return {fmt::format("the middle 80 % of the samples span {} to {} ms", format_significant(*row.latency->p10_ms),
                      format_significant(*row.latency->p90_ms)),
          {}};
}

Judgement says_drift(const Cell&, const Record& row) {
  const std::span<const double> samples_ms = first_process_ms(row);
  if (samples_ms.size() < 20) return {};
  const std::size_t half = samples_ms.size() / 2;
  const double change = median(samples_ms.subspan(half)) / median(samples_ms.first(half)) - 1;
  if (std::abs(change) <= 0.05) return {};
  return {fmt::format("the second half of the samples is {} {} than the first", percent(std::abs(change)),
                      change > 0 ? "slower" : "faster"),
          {}};
}

Judgement says_one_process(const Cell&, const Record& row) {
  if (is_of_program(row.setting.mode)) return {};  // Each run is a process.
  if (row.latency->run_spread) return {};          // What differs between runs, and so processes, is in its interval.
  constexpr std::size_t enough = 5;
  const std::size_t processes = std::max<std::size_t>(row.latency->process_samples.size(), 1);
  if (processes >= enough) return {};
  if (processes == 1) return {"it was timed in one process, and what differs between processes is not known", {}};
  return {fmt::format("it was timed in {} processes, too few to know what differs between them", processes), {}};
}

Judgement says_disk(const Cell&, const Record& row) {
  if (row.circumstances->major_page_faults.value_or(0) == 0) return {};
  return {fmt::format("{} pages were read from a disk within the windows", *row.circumstances->major_page_faults), {}};
}

Judgement says_speedup_wide(const Cell&, const Record& row) {
  if (!row.speedup->speedup || !row.speedup->speedup_low || !row.speedup->speedup_high) return {};
  if (*row.speedup->speedup_high - *row.speedup->speedup_low <= 0.2 * *row.speedup->speedup) return {};
  return {fmt::format("the speed-up is only known to lie between {} and {}", times(*row.speedup->speedup_low),
                      times(*row.speedup->speedup_high)),
          {}};
}

Judgement says_any_emulated(const Cell&, const Record& row) {
  const auto emulated = std::count_if(row.evidence.ledger.begin(), row.evidence.ledger.end(),
                                      [](const LedgerRow& line) { return line.verdict == Verdict::emulated; });
  if (emulated == 0) return {};
  return {fmt::format("{} of {} operations were emulated in another dtype", emulated, row.evidence.ledger.size()), {}};
}

Judgement says_conflict(const Cell&, const Record& row) {
  if (!row.energy->energy_conflict) return {};
  return {"the meters contradict each other: " + *row.energy->energy_conflict, {}};
}

Judgement says_interrupted(const Cell&, const Record& row) {
  if (row.latency->stopped_by != StoppedBy::interrupted) return {};
  return {"sampling was interrupted", {}};
}

Judgement says_part_scored(const Cell&, const Record& row) {
  const std::optional<ScoredPart> part = scored_part(row.quality->quality_status);
  if (!part) return {};
  return {"its quality is of a part of the data: scoring was interrupted after " + to_text(*part), {}};
}

Judgement says_held_down(const Cell&, const Record& row) {
  if (!row.circumstances->throttle) return {};
  return {fmt::format("the GPU's clocks were held down while it was timed: {}", *row.circumstances->throttle), {}};
}

Judgement says_altered(const Cell&, const Record& row) {
  if (row.seal.state == Seal::State::broken) return {"it was changed after it was written", {}};
  if (!row.seal.changed.empty()) return {"figures that stood there do not follow from its samples", {}};
  if (is_without_samples(row)) return {"its latency stands there without samples", {}};
  return {};
}

constexpr Rule trusts[] = {
    {.id = "altered",
     .kind = RuleKind::trust,
     .grade = Trust::d,
     .evidence = "seal, raw_ms",
     .states = "Read from a file, and not as it was written there: `broken_seal`, `changed_figures`, "
               "`figures_without_samples`.",
     .judge = says_altered,
     .severity = Severity::medium,
     .remedy = "Take the file from where it was measured, or measure again."},
    {.id = "suspect_rate",
     .kind = RuleKind::trust,
     .grade = Trust::c,
     .evidence = "median_ms, matmul_ms, peaks_measured_share",
     .states = "Faster than 1.1x the best matmuls measured with the same operands, row by row of the ledger.",
     .judge = says_suspect,
     .severity = Severity::medium,
     .remedy = "Run `assay probe` again on a quiet machine, then measure again."},
    {.id = "busy_peaks",
     .kind = RuleKind::trust,
     .grade = Trust::b,
     .evidence = "peaks_measured_share",
     .states = "The peaks were measured on a busy machine: they gate nothing.",
     .judge = says_busy_peaks,
     .severity = Severity::low,
     .remedy = "Run `assay probe` again while nothing else runs."},
    {.id = "baseline_impossible",
     .kind = RuleKind::trust,
     .grade = Trust::b,
     .evidence = "status of the baseline",
     .states = "The baseline is impossible, or its output is not finite: nothing is compared with it.",
     .judge = says_baseline_unsound,
     .severity = Severity::low,
     .remedy = "Mend what made the baseline impossible, then compare."},
    {.id = "no_interval",
     .kind = RuleKind::trust,
     .grade = Trust::d,
     .evidence = "ci_low_ms, ci_high_ms",
     .states = "Too few samples for an interval of the median.",
     .judge = says_few,
     .severity = Severity::medium,
     .remedy = "Measure longer (`--seconds`) or with more rounds (`--rounds`)."},
    {.id = "no_figure",
     .kind = RuleKind::trust,
     .grade = Trust::d,
     .evidence = "ci_low_ms, ci_high_ms",
     .states = "Interval of the median as wide as ±100 % of it or wider: there is no figure.",
     .judge = says_no_figure,
     .severity = Severity::medium,
     .remedy = "Measure longer, or on a quieter machine."},
    {.id = "wide_interval",
     .kind = RuleKind::trust,
     .grade = Trust::c,
     .evidence = "ci_low_ms, ci_high_ms",
     .states = "Interval of the median wider than 10 %, and less than ±100 %.",
     .judge = says_wide,
     .severity = Severity::medium,
     .remedy = "Measure longer, or on a quieter machine."},
    {.id = "width_not_reached",
     .kind = RuleKind::trust,
     .grade = Trust::b,
     .evidence = "asked_width, ci_low_ms, ci_high_ms",
     .states = "Interval wider than asked when sampling ended.",
     .judge = says_not_as_narrow,
     .severity = Severity::low,
     .remedy = "Raise `--seconds`, or ask for a wider interval (`--width`)."},
    {.id = "few_processes",
     .kind = RuleKind::trust,
     .grade = Trust::b,
     .evidence = "process_samples",
     .states = "Timed in fewer than 5 processes, and what differs between runs of this machine is not known either.",
     .judge = says_one_process,
     .severity = Severity::low,
     .remedy = "`bench --processes 5`."},
    {.id = "busy",
     .kind = RuleKind::trust,
     .grade = Trust::b,
     .evidence = "foreign_load",
     .states = "Others used more than 5 % of the processors.",
     .judge = says_some_load,
     .severity = Severity::low,
     .remedy = "Stop what else runs."},
    {.id = "very_busy",
     .kind = RuleKind::trust,
     .grade = Trust::c,
     .evidence = "foreign_load",
     .states = "Others used more than 20 %.",
     .judge = says_much_load,
     .severity = Severity::medium,
     .remedy = "Stop what else runs; compare ratios of interleaved runs only."},
    {.id = "overrun",
     .kind = RuleKind::trust,
     .grade = Trust::d,
     .evidence = "foreign_load",
     .states = "Others used more than 50 %.",
     .judge = says_too_much_load,
     .severity = Severity::medium,
     .remedy = "Measure again when the machine is free."},
    {.id = "load_unknown",
     .kind = RuleKind::trust,
     .grade = Trust::b,
     .evidence = "foreign_load",
     .states = "What others used is not known.",
     .judge = says_load_unknown,
     .severity = Severity::low,
     .remedy = "Run where /proc/stat can be read."},
    {.id = "left_running",
     .kind = RuleKind::trust,
     .grade = Trust::c,
     .evidence = "daemons_left, daemons_ended, daemons_alive",
     .states = "Processes that the runs of a program left shared the processors with later samples.",
     .judge = says_left_running,
     .severity = Severity::medium,
     .remedy = "`measure --end-daemons`, or have the program end what it starts."},
    {.id = "stolen",
     .kind = RuleKind::trust,
     .grade = Trust::b,
     .evidence = "stolen_share",
     .states = "The hypervisor withheld more than 1 % of the time.",
     .judge = says_some_stolen,
     .severity = Severity::low,
     .remedy = "Measure on a machine of your own, or compare interleaved ratios only."},
    {.id = "much_stolen",
     .kind = RuleKind::trust,
     .grade = Trust::c,
     .evidence = "stolen_share",
     .states = "It withheld more than 5 %.",
     .judge = says_much_stolen,
     .severity = Severity::medium,
     .remedy = "Measure on a machine of your own."},
    {.id = "stolen_unknown",
     .kind = RuleKind::trust,
     .grade = Trust::b,
     .evidence = "stolen_share",
     .states = "What the hypervisor withheld is not known.",
     .judge = says_stolen_unknown,
     .severity = Severity::low,
     .remedy = "Run where /proc/stat can be read."},
    {.id = "clock_moved",
     .kind = RuleKind::trust,
     .grade = Trust::b,
     .evidence = "frequency_before_mhz, frequency_after_mhz",
     .states = "The clock of what works, processors or GPU, changed by more than 5 %.",
     .judge = says_frequency,
     .severity = Severity::low,
     .remedy = "Fix the clock (performance governor, no boost; nvidia-smi -lgc), or measure longer."},
    {.id = "held_down",
     .kind = RuleKind::trust,
     .grade = Trust::b,
     .evidence = "throttle",
     .states = "A GPU's clocks were held down (power cap, heat) in rounds that count, since as many had been left out "
               "by then.",
     .judge = says_held_down,
     .severity = Severity::low,
     .remedy = "Cool the board, raise its power limit, or quote the figure as of that limit."},
    {.id = "not_steady",
     .kind = RuleKind::trust,
     .grade = Trust::b,
     .evidence = "steady",
     .states = "The warm-up ended by time and not by its rule.",
     .judge = says_unsteady,
     .severity = Severity::low,
     .remedy = "Raise `--seconds`: a part of it is warm-up."},
    {.id = "short_warm_up",
     .kind = RuleKind::trust,
     .grade = Trust::b,
     .evidence = "warmup_steps, raw_ms",
     .states = "The first step that counts took more than 1.25x the median, or the first tenth of at least 20 samples "
               "more than 1.25x what the second half does: the warm-up may have been too short.",
     .judge = says_short_warm_up,
     .severity = Severity::low,
     .remedy = "Raise `--warmup`, or `--seconds`."},
    {.id = "spread",
     .kind = RuleKind::trust,
     .grade = Trust::b,
     .evidence = "p10_ms, p90_ms, median_ms",
     .states = "90th and 10th percentile lie further apart than 30 % of the median.",
     .judge = says_tail,
     .severity = Severity::low,
     .remedy = "Look at the raw samples for a second mode; measure on a quieter machine."},
    {.id = "drift",
     .kind = RuleKind::trust,
     .grade = Trust::b,
     .evidence = "raw_ms",
     .states = "Medians of the two halves of the samples differ by more than 5 %.",
     .judge = says_drift,
     .severity = Severity::low,
     .remedy = "Warm up longer, and look at temperature and clock."},
    {.id = "disk",
     .kind = RuleKind::trust,
     .grade = Trust::c,
     .evidence = "major_page_faults",
     .states = "Pages were read from a disk within the windows.",
     .judge = says_disk,
     .severity = Severity::medium,
     .remedy = "Give the machine enough memory for the model, or run once more."},
    {.id = "speedup_unsure",
     .kind = RuleKind::trust,
     .grade = Trust::b,
     .evidence = "speedup, speedup_low, speedup_high",
     .states = "Interval of the speed-up wider than 20 %.",
     .judge = says_speedup_wide,
     .severity = Severity::low,
     .remedy = "Measure longer."},
    {.id = "emulated_operations",
     .kind = RuleKind::trust,
     .grade = Trust::c,
     .evidence = "ledger",
     .states = "An operation was emulated in another dtype.",
     .judge = says_any_emulated,
     .severity = Severity::medium,
     .remedy = "Use a precision that this machine has instructions for."},
    {.id = "meters_disagree",
     .kind = RuleKind::trust,
     .grade = Trust::c,
     .evidence = "energy_conflict",
     .states = "Two meters of one part are further apart than their uncertainties and a tenth, or a part used more "
               "than its whole.",
     .judge = says_conflict,
     .severity = Severity::medium,
     .remedy = "Find out which meter covers what; name the one you trust with `--meter`."},
    {.id = "was_interrupted",
     .kind = RuleKind::trust,
     .grade = Trust::c,
     .evidence = "stopped_by",
     .states = "Sampling was interrupted.",
     .judge = says_interrupted,
     .severity = Severity::medium,
     .remedy = "Let it run to its end."},
    {.id = "part_scored",
     .kind = RuleKind::trust,
     .grade = Trust::c,
     .evidence = "quality_status",
     .states = "Scoring was interrupted: its quality is of a part of the data.",
     .judge = says_part_scored,
     .severity = Severity::medium,
     .remedy = "Let it run to its end (`--resume` scores it anew)."},
};

}  // namespace

std::span<const Rule> trust_rules() {
  return trusts;
}

}  // namespace assay
