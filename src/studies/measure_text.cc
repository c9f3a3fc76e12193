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
  if (!record.median_ms) return name(record.status);
  if (!record.ci_low_ms || !record.ci_high_ms) return figure(record.median_ms) + " ±?";
  const double half = 50 * (*record.ci_high_ms - *record.ci_low_ms) / *record.median_ms;
  return fmt::format("{} ±{:.1f}%", figure(record.median_ms), half);
}

std::string speedup(const Record& record) {
  if (!record.speedup) return "-";
  if (!record.speedup_low || *record.speedup_low == *record.speedup_high) return fmt::format("{:.2f}", *record.speedup);
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", *record.speedup, *record.speedup_low, *record.speedup_high);
}

std::string energy(const Record& record) {
  if (!record.energy_j) return record.energy_status.starts_with("no meter") ? "no meter" : "-";
  const char* mark = record.energy_short_share.value_or(0) > 0 ? "!" : "";
  return fmt::format("{}{} ±{}", figure(record.energy_j), mark, figure(record.energy_uncertainty_j));
}

std::string megabytes(const Record& record) {
  if (!record.resident_bytes) return "-";
  return format_significant(static_cast<double>(*record.resident_bytes) / 1e6);
}

std::string status(const Record& record) {
  return record.status == Status::ok ? record.trust.value_or("-") : name(record.status);
}

/// Of a program: its letter; claims take the precision's place.
std::string letter(std::size_t program) {
  return std::string(1, static_cast<char>('A' + program));
}

void add_program(std::string& text, const std::string& label, const Record& record) {
  text += fmt::format("{:<3}{:>16} {:<20}{:>10}{:>10}{:>9}{:>16}{:>9}  {}\n", label, latency(record), speedup(record),
                      figure(record.user_ms), figure(record.system_ms), megabytes(record), energy(record),
                      figure(record.power_w), status(record));
}

std::string items_a_time(const Record& record) {
  if (!record.items || record.timed_runs.value_or(0) < 1) return "-";
  return format_significant(*record.items / static_cast<double>(*record.timed_runs));
}

void add_phase(std::string& text, const Record& record, double whole_s) {
  const double share = whole_s > 0 ? 100 * record.timed_s.value_or(0) / whole_s : 0;
  text += fmt::format("  {:<20}{:>7}{:>16}{:>9.1f}{:>8}{:>12}{:>16}{:>9}\n", printable(*record.phase, 20),
                      record.timed_runs.value_or(0), latency(record), share, items_a_time(record),
                      figure(record.samples_per_s), energy(record), figure(record.power_w));
}

std::string programs_table(const Document& document) {
  std::string text = fmt::format("{:<3}{:>16} {:<20}{:>10}{:>10}{:>9}{:>16}{:>9}  {}\n", "", "time ms ± 95 %",
                                 "speed-up [95 %]", "user ms", "system ms", "peak MB", "energy J", "power W", "trust");
  std::size_t program = 0;
  for (const Record& record : document.records) {
    if (record.mode == "program") add_program(text, letter(program++), record);
  }
  return text;
}

std::string phases_table(const Document& document) {
  std::string text;
  double whole_s = 0;
  std::size_t program = 0;
  bool is_headed = false;
  for (const Record& record : document.records) {
    if (record.mode == "program") {
      whole_s = record.timed_s.value_or(0);
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
  std::string text = "  energy: " + record.energy_status;
  if (record.idle_power_w) text += fmt::format("; idle {} W", figure(record.idle_power_w));
  if (record.energy_update_s)
    text += fmt::format("; renewed every {} ms", format_significant(1e3 * *record.energy_update_s));
  text += "\n";
  if (record.energy_net_j) text += fmt::format("  energy of a run above idle: {} J\n", figure(record.energy_net_j));
  for (const std::string& other : record.other_energy) text += "  " + other + "\n";
  if (record.energy_delay_js)
    text += fmt::format("  energy x delay of a run: {} J s\n", figure(record.energy_delay_js));
  if (record.cost_per_million_tokens)
    text += fmt::format("  cost of a million runs: {}\n", figure(record.cost_per_million_tokens));
  if (record.carbon_g_per_million_tokens)
    text += fmt::format("  CO2 of a million runs: {} kg\n", figure(1e-3 * *record.carbon_g_per_million_tokens));
  return text;
}

std::string claim_notes(const Record& record) {
  if (!record.flops) return "";
  std::string text = fmt::format("  claimed: {} operations in {}: {} GFLOP/s", figure(record.flops), record.precision,
                                 figure(record.gflops));
  if (record.peak_share) text += fmt::format(", {:.0f} % of the {}", 100 * *record.peak_share, *record.peak_kind);
  return text + "\n";
}

std::string doubts(const Document& document) {
  std::string text;
  std::set<std::string> said;
  std::size_t program = 0;
  for (const Record& record : document.records) {
    if (record.mode != "program") continue;
    const std::string label = letter(program++);
    if (record.reason) text += fmt::format("  {}: {}: {}\n", label, name(record.status), *record.reason);
    for (const std::string& reason : record.trust_reasons) {
      if (record.trust != "A" && said.insert(label + reason).second) text += fmt::format("  {}: {}\n", label, reason);
    }
  }
  return text.empty() ? "" : "\nTrust below A\n" + text;
}

}  // namespace

std::string measure_report(const Document& document) {
  std::string text;
  std::size_t program = 0;
  for (const Record& record : document.records) {
    if (record.mode == "program") text += fmt::format("{}: {}\n", letter(program++), printable(record.model, 200));
  }
  text += "\n" + programs_table(document) + phases_table(document) + "\n";
  const Record& first = document.records.front();
  text += "  time: of the whole program, from before its start until it had ended; its first and warm-up runs apart\n";
  text += fmt::format("  {} samples of each after a first run of {} ms; ended by {}\n", first.samples,
                      figure(first.first_ms), first.stopped_by.value_or("-"));
  text += "  peak MB: 10^6 bytes of the largest process; at least what assay itself holds when it starts one\n";
  return text + claim_notes(first) + energy_notes(first) + doubts(document);
}

}  // namespace assay
