#include "studies/program_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/secrets.h"
#include "studies/bench_record.h"
#include "tensor/precision.h"

namespace assay {
namespace {

constexpr std::size_t most_kept_spans = 100'000;

double median_of_runs(const std::vector<const ProgramRun*>& runs, double ChildRun::*figure) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const ProgramRun* run : runs) values.push_back(run->child.*figure);
  return median(values);
}

/// Processors that the program kept busy, at least one: what others took is told by it.
std::int64_t threads_used(const std::vector<const ProgramRun*>& runs) {
  double busy_s = 0;
  double wall_s = 0;
  for (const ProgramRun* run : runs) {
    busy_s += run->child.user_s + run->child.system_s;
    wall_s += run->child.wall_s;
  }
  return wall_s > 0 ? std::max<std::int64_t>(1, std::llround(busy_s / wall_s)) : 1;
}

void record_children(const std::vector<const ProgramRun*>& runs, Record& record) {
  if (runs.empty()) return;
  record.user_ms = 1e3 * median_of_runs(runs, &ChildRun::user_s);
  record.system_ms = 1e3 * median_of_runs(runs, &ChildRun::system_s);
  std::int64_t peak = 0;
  for (const ProgramRun* run : runs) peak = std::max(peak, run->child.peak_bytes);
  if (peak > 0) record.resident_bytes = peak;
}

/// The gate judges the claim by what the dtype's instructions and matmuls reach here.
void record_claim(const MeasureRequest& request, const MachineFacts& facts, Record& record) {
  record.precision = request.claims;
  record.flops = request.flops;
  record.peaks_measured_share = facts.measured_share;
  const auto& claimed = find_precision(request.claims);
  const MatmulPeak* peak = facts.peak(claimed.operand);
  if (peak == nullptr) return;
  if (peak->instruction_gflops > 0) {
    record.instruction_peak_gflops = peak->instruction_gflops;
    record.instruction_ms = *request.flops / peak->instruction_gflops * 1e-6;
  }
  record_product_peak(*peak, claimed.accumulator, record);
  if (record.peak_gflops) record.matmul_ms = *request.flops / *record.peak_gflops * 1e-6;
}

Record blank(const MeasuredProgram& program) {
  Record record;
  record.model = without_secrets(program.runs.command().text);
  record.mode = "program";
  record.command = record.model;
  record.weights = record.logits = record.fusion = record.casts = record.stored_dtype = "-";
  record.precision = program.series.name;
  record.baseline = program.baseline.name;
  record.seed = program.request.seed;
  record.machine = fmt::format("{}, {} cores", program.facts.processor, program.facts.cores);
  record.build = build_words();
  return record;
}

struct PhaseSums {
  std::vector<double> raw_ms;
  double seconds = 0;
  double items = 0;  ///< 0: the program says none.
  double joules = 0;
  double uncertainty_j = 0;
  std::int64_t spans = 0;
  std::int64_t short_spans = 0;
};

PhaseSums sums_of(const MeasuredProgram& program, const std::string& phase) {
  const EnergyMeter* meter = program.power.source.meter.get();
  PhaseSums sums;
  for (const ProgramRun* run : program.runs.sampled(program.series)) {
    for (const auto& [name, spans] : run->phases) {
      if (name != phase) continue;
      for (const MeteredSpan& span : spans) {
        const double seconds = span.span.end_s - span.span.begin_s;
        if (sums.raw_ms.size() < most_kept_spans) sums.raw_ms.push_back(1e3 * seconds);
        sums.seconds += seconds;
        sums.items += span.span.items;
        sums.joules += span.joules;
        sums.uncertainty_j += span.uncertainty_j;
        ++sums.spans;
        if (meter != nullptr && is_short_window(meter->facts(), span.joules, seconds)) ++sums.short_spans;
      }
    }
  }
  return sums;
}

void record_phase_energy(const MeasuredProgram& program, const PhaseSums& sums, Record& record) {
  if (!program.series.energy || sums.joules <= 0) return;
  const double items = record.items.value_or(static_cast<double>(sums.spans));
  record.energy_j = sums.joules / items;
  record.energy_uncertainty_j = sums.uncertainty_j / items;
  record.power_w = sums.joules / sums.seconds;
  record.energy_short_share = static_cast<double>(sums.short_spans) / static_cast<double>(sums.spans);
  if (program.power.idle) record_net(*program.power.idle, sums.seconds / items, record);
}

void clear_whole(Record& record) {
  for (const auto figure : {&Record::user_ms,
                            &Record::system_ms,
                            &Record::first_ms,
                            &Record::flops,
                            &Record::instruction_ms,
                            &Record::matmul_ms,
                            &Record::gflops,
                            &Record::peak_share,
                            &Record::speedup,
                            &Record::speedup_low,
                            &Record::speedup_high,
                            &Record::baseline_median_ms,
                            &Record::energy_j,
                            &Record::energy_net_j,
                            &Record::energy_net_uncertainty_j,
                            &Record::energy_uncertainty_j,
                            &Record::energy_per_token_j,
                            &Record::energy_delay_js,
                            &Record::cost_per_million_tokens,
                            &Record::carbon_g_per_million_tokens,
                            &Record::energy_short_share,
                            &Record::power_w,
                            &Record::ci_low_ms,
                            &Record::ci_high_ms,
                            &Record::asked_width})
    (record.*figure).reset();
  record.resident_bytes.reset();
  record.warm_up_ms.clear();
  record.other_energy.clear();
  record.window_power_w.clear();
  record.energy_conflict.reset();
  record.status = Status::ok;
  record.reason.reset();
}

Record phase_record(const MeasuredProgram& program, const std::string& phase, const Record& whole) {
  const PhaseSums sums = sums_of(program, phase);
  Record record = whole;
  clear_whole(record);
  record.mode = "phase";
  record.phase = phase;
  if (sums.items > 0) record.items = sums.items;
  record.raw_ms = sums.raw_ms;
  record.samples = static_cast<std::int64_t>(sums.raw_ms.size());
  record.repetitions = 1;
  record.timed_runs = sums.spans;
  record.timed_s = sums.seconds;
  record_statistics(sums.raw_ms, record);
  record_phase_energy(program, sums, record);
  derive(record);
  return record;
}

}  // namespace

Record program_record(const MeasuredProgram& program) {
  Record record = blank(program);
  const auto runs = program.runs.sampled(program.series);
  record.threads = threads_used(runs);
  BenchRequest asked;
  asked.width = program.request.width;
  if (program.request.flops && &program.series == &program.baseline)
    record_claim(program.request, program.facts, record);
  record_series(program.series, {program.baseline, program.power, asked}, record);
  record_children(runs, record);
  record_prices(program.request.energy, record);
  derive(record);
  if (record.samples == 0) record.energy_status = "not run";
  return record;
}

std::vector<Record> phase_records(const MeasuredProgram& program, const Record& whole) {
  std::vector<std::string> names;
  for (const ProgramRun* run : program.runs.sampled(program.series)) {
    for (const auto& [name, spans] : run->phases) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::vector<Record> records;
  records.reserve(names.size());
  for (const std::string& name : names) records.push_back(phase_record(program, name, whole));
  return records;
}

std::string marker_faults(const MeasuredProgram& program) {
  std::int64_t faults = 0;
  std::string first;
  for (const ProgramRun* run : program.runs.sampled(program.series)) {
    if (faults == 0) first = run->first_marker_fault;
    faults += run->marker_faults;
  }
  if (faults == 0) return "";
  return fmt::format("{}: {} lines about phases were no markers, the first: {}", program.series.name, faults, first);
}

}  // namespace assay
