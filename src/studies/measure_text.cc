#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/printable.h"
#include "base/units.h"
#include "studies/measure_program.h"

namespace assay {
namespace {

using OptionalFigure = std::optional<double>;

std::string figure(const OptionalFigure& value) {
  return value ? format_significant(*value) : "-";
}

/// "12.3 ±1.5%".
std::string latency(const Record& record) {
  if (!record.latency->median_ms) return name(record.outcome.status);
  if (!record.latency->ci_low_ms || !record.latency->ci_high_ms) return figure(record.latency->median_ms) + " ±?";
  const double half = 50 * (*record.latency->ci_high_ms - *record.latency->ci_low_ms) / *record.latency->median_ms;
  return fmt::format("{} ±{:.1f}%", figure(record.latency->median_ms), half);
}

std::string speedup(const Record& record) {
  if (!record.speedup->speedup) return "-";
  if (!record.speedup->speedup_low || *record.speedup->speedup_low == *record.speedup->speedup_high)
    return fmt::format("{:.2f}", *record.speedup->speedup);
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", *record.speedup->speedup, *record.speedup->speedup_low,
                     *record.speedup->speedup_high);
}

std::string energy(const Record& record) {
  if (!record.energy->energy_j) return record.energy->energy_status.starts_with("no meter") ? "no meter" : "-";
  const char* mark = record.energy->energy_short_share.value_or(0) > 0 ? "!" : "";
  return fmt::format("{}{} ±{}", figure(record.energy->energy_j), mark, figure(record.energy->energy_uncertainty_j));
}

std::string megabytes(const Record& record) {
  if (!record.memory->resident_bytes) return "-";
  return format_significant(static_cast<double>(*record.memory->resident_bytes) / 1e6);
}

std::string status(const Record& record) {
  return record.outcome.status == Status::ok ? record.grade.trust.value_or("-") : name(record.outcome.status);
}

/// Of a program: its letter; claims take the precision's place.
std::string letter(std::size_t program) {
  return std::string(1, static_cast<char>('A' + program));
}

void add_program(std::string& text, const std::string& label, const Record& record) {
  text += fmt::format("{:<3}{:>16} {:<20}{:>10}{:>10}{:>9}{:>16}{:>9}  {}\n", label, latency(record), speedup(record),
                      figure(record.program_run->user_ms), figure(record.program_run->system_ms), megabytes(record),
                      energy(record), figure(record.energy->power_w), status(record));
}

std::string items_a_time(const Record& record) {
  if (!record.latency->items || record.latency->timed_runs.value_or(0) < 1) return "-";
  return format_significant(*record.latency->items / static_cast<double>(*record.latency->timed_runs));
}

void add_phase(std::string& text, const Record& record, double whole_s) {
  const double share = whole_s > 0 ? 100 * record.latency->timed_s.value_or(0) / whole_s : 0;
  text += fmt::format("  {:<20}{:>7}{:>16}{:>9.1f}{:>8}{:>12}{:>16}{:>9}\n", printable(*record.setting.phase, 20),
                      record.latency->timed_runs.value_or(0), latency(record), share, items_a_time(record),
                      figure(record.rates.samples_per_s), energy(record), figure(record.energy->power_w));
}

std::string programs_table(const Document& document) {
  std::string text = fmt::format("{:<3}{:>16} {:<20}{:>10}{:>10}{:>9}{:>16}{:>9}  {}\n", "", "time ms ± 95 %",
                                 "speed-up [95 %]", "user ms", "system ms", "peak MB", "energy J", "power W", "trust");
  std::size_t program = 0;
  for (const Record& record : document.records) {
    if (record.setting.mode == Mode::program) add_program(text, letter(program++), record);
  }
  return text;
}

std::string phases_table(const Document& document) {
  std::string text;
  double whole_s = 0;
  std::size_t program = 0;
  bool is_headed = false;
  for (const Record& record : document.records) {
    if (record.setting.mode == Mode::program) {
      whole_s = record.latency->timed_s.value_or(0);
      ++program;
      is_headed = false;
      continue;
    }
    if (!is_headed) {
      text += fmt::format("\nphases of {:<12}{:>7}{:>16}{:>9}{:>8}{:>12}{:>16}{:>9}\n", letter(program - 1), "times",
                          "time ms ± 95 %", "% of run", "items", "items/s", "J an item", "power W");
      is_headed = true;
    }
    add_phase(text, record, whole_s);
  }
  return text;
}

/// "energy RAPL: package-0, dram; idle 12.3 W; every 1.00 ms".
std::string energy_notes(const Record& record) {
  std::string text = "  energy: " + record.energy->energy_status;
  if (record.energy->idle_power_w) text += fmt::format("; idle {} W", figure(record.energy->idle_power_w));
  if (record.energy->energy_update_s)
    text += fmt::format("; renewed every {} ms", format_significant(1e3 * *record.energy->energy_update_s));
  text += "\n";
  if (record.energy->energy_net_j)
    text += fmt::format("  energy of a run above idle: {} J\n", figure(record.energy->energy_net_j));
  for (const std::string& other : record.energy->other_energy) text += "  " + other + "\n";
  if (record.rates.energy_delay_js)
    text += fmt::format("  energy x delay of a run: {} J s\n", figure(record.rates.energy_delay_js));
  if (record.rates.cost_per_million_tokens)
    text += fmt::format("  cost of a million runs: {}\n", figure(record.rates.cost_per_million_tokens));
  if (record.rates.carbon_g_per_million_tokens)
    text += fmt::format("  CO2 of a million runs: {} kg\n", figure(1e-3 * *record.rates.carbon_g_per_million_tokens));
  return text;
}

std::string claim_notes(const Record& record) {
  if (!record.evidence.flops) return "";
  std::string text = fmt::format("  claimed: {} operations in {}: {} GFLOP/s", figure(record.evidence.flops),
                                 record.setting.precision, figure(record.rates.gflops));
  if (record.rates.peak_share)
    text += fmt::format(", {:.0f} % of the {}", 100 * *record.rates.peak_share, *record.evidence.peak_kind);
  return text + "\n";
}

std::string doubts(const Document& document) {
  std::string text;
  std::set<std::string> said;
  std::size_t program = 0;
  for (const Record& record : document.records) {
    if (record.setting.mode != Mode::program) continue;
    const std::string label = letter(program++);
    if (record.outcome.reason)
      text += fmt::format("  {}: {}: {}\n", label, name(record.outcome.status), *record.outcome.reason);
    for (const std::string& reason : record.grade.trust_reasons) {
      if (record.grade.trust != "A" && said.insert(label + reason).second)
        text += fmt::format("  {}: {}\n", label, reason);
    }
  }
  return text.empty() ? "" : "\nTrust below A\n" + text;
}

}  // namespace

std::string measure_report(const Document& document) {
  std::string text;
  std::size_t program = 0;
  for (const Record& record : document.records) {
    if (record.setting.mode == Mode::program)
      text += fmt::format("{}: {}\n", letter(program++), printable(record.setting.model, 200));
  }
  text += "\n" + programs_table(document) + phases_table(document) + "\n";
  const Record& first = document.records.front();
  text += "  time: of the whole program, from before its start until it had ended; its first and warm-up runs apart\n";
  text += fmt::format("  {} samples of each after a first run of {} ms; ended by {}\n", first.latency->samples,
                      figure(first.latency->first_ms), first.latency->stopped_by.value_or("-"));
  text += "  peak MB: 10^6 bytes of the largest process; at least what assay itself holds when it starts one\n";
  return text + claim_notes(first) + energy_notes(first) + doubts(document);
}

}  // namespace assay
