#include "studies/measure/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/secrets.h"
#include "results/derive.h"
#include "studies/shared/plan_record.h"
#include "studies/shared/series_record.h"
#include "studies/shared/setting.h"
#include "tensor/precision.h"

namespace assay {
namespace {

constexpr std::size_t most_kept_spans = 100'000;

double median_of_runs(const std::vector<const ObservedRun*>& runs, double ChildRun::*figure) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const ObservedRun* run : runs) values.push_back(run->child.*figure);
  return median(values);
}

/// Processors that the program kept busy, at least one: what others took is told by it.
std::int64_t threads_used(const std::vector<const ObservedRun*>& runs) {
  double busy_s = 0;
  double wall_s = 0;
  for (const ObservedRun* run : runs) {
    busy_s += run->child.user_s + run->child.system_s;
    wall_s += run->child.wall_s;
  }
  return wall_s > 0 ? std::max<std::int64_t>(1, std::llround(busy_s / wall_s)) : 1;
}

ProgramRun program_run_of(const std::vector<const ObservedRun*>& runs, const LeftCounts& left) {
  return {.user_ms = 1e3 * median_of_runs(runs, &ChildRun::user_s),
          .system_ms = 1e3 * median_of_runs(runs, &ChildRun::system_s),
          .daemons_left = left.left,
          .daemons_alive = left.alive,
          .daemons_ended = left.ended};
}

/// Absent where the program never held more than assay did.
std::optional<MemoryUse> peak_memory(const std::vector<const ObservedRun*>& runs) {
  std::int64_t peak = 0;
  for (const ObservedRun* run : runs) peak = std::max(peak, run->child.peak_bytes);
  if (peak <= 0) return std::nullopt;
  return MemoryUse{.resident_bytes = peak};
}

/// What is claimed holds for the first command alone.
bool has_claim(const MeasuredProgram& program) {
  return program.request.flops && &program.series == &program.baseline;
}

/// What the claimed dtype's instructions and matmuls reach here: by them the gate judges the claim.
Evidence claimed_peaks(const MeasuredProgram& program) {
  if (!has_claim(program)) return {};
  Evidence evidence{.peaks_measured_share = program.facts.measured_share};
  const auto& claimed = find_precision(program.request.claims);
  const MatmulPeak* peak = program.facts.peak(claimed.operand);
  if (peak == nullptr) return evidence;
  if (peak->instruction_gflops > 0) evidence.instruction_peak_gflops = peak->instruction_gflops;
  set_product_peak(*peak, claimed.accumulator, evidence);
  return evidence;
}

/// Of a whole run, which is what FLOPs are claimed of.
Evidence program_evidence(const MeasuredProgram& program) {
  Evidence evidence = claimed_peaks(program);
  if (!has_claim(program)) return evidence;
  evidence.flops = program.request.flops;
  if (evidence.instruction_peak_gflops)
    evidence.instruction_ms = *evidence.flops / *evidence.instruction_peak_gflops * 1e-6;
  if (evidence.peak_gflops) evidence.matmul_ms = *evidence.flops / *evidence.peak_gflops * 1e-6;
  return evidence;
}

Setting program_setting(const MeasuredProgram& program, std::int64_t threads) {
  Setting setting;
  setting.model = without_secrets(program.runs.command().text);
  setting.mode = Mode::program;
  setting.command = setting.model;
  setting.weights = setting.stored_dtype = "-";
  setting.logits = LogitsOf::nothing;
  setting.fusion = Switch::unknown;
  setting.casts = CastsMade::unknown;
  setting.precision = has_claim(program) ? program.request.claims : program.series.name;
  setting.baseline = program.baseline.name;
  setting.threads = threads;
  setting.seed = program.request.seed;
  setting.machine = fmt::format("{}, {} cores", program.facts.processor, program.facts.cores);
  setting.build = build_words();
  return setting;
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
  for (const ObservedRun* run : program.runs.sampled(program.series)) {
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

Energy phase_energy(const MeasuredProgram& program, const PhaseSums& sums) {
  Energy energy = metered_by(program.series, program.power);
  set_prices(program.request.energy, energy);
  if (!program.series.energy || sums.joules <= 0) return energy;
  const double items = sums.items > 0 ? sums.items : static_cast<double>(sums.spans);
  set_energy({sums.joules / items, sums.uncertainty_j / items, sums.seconds / items}, program.series, program.power,
             energy);
  energy.power_w = sums.joules / sums.seconds;
  energy.energy_short_share = static_cast<double>(sums.short_spans) / static_cast<double>(sums.spans);
  return energy;
}

/// How sampling went is told of the whole.
Latency phase_latency(const PhaseSums& sums, const Latency& whole) {
  Latency latency = latency_of(sums.raw_ms);
  latency.repetitions = 1;
  latency.steady = whole.steady;
  latency.stopped_by = whole.stopped_by;
  latency.timed_runs = sums.spans;
  latency.timed_s = sums.seconds;
  if (sums.items > 0) latency.items = sums.items;
  return latency;
}

Record phase_record(const MeasuredProgram& program, const std::string& phase, const Record& whole) {
  const PhaseSums sums = sums_of(program, phase);
  Record record{.setting = whole.setting,
                .latency = phase_latency(sums, *whole.latency),
                .circumstances = whole.circumstances,
                .energy = phase_energy(program, sums),
                .evidence = claimed_peaks(program)};
  record.setting.mode = Mode::phase;
  record.setting.phase = phase;
  record.rates = rates_of(record);
  return record;
}

}  // namespace

Record program_record(const MeasuredProgram& program) {
  const auto runs = program.runs.sampled(program.series);
  Record record{.setting = program_setting(program, threads_used(runs)), .evidence = program_evidence(program)};
  const SeriesContext context{program.baseline, program.power, static_cast<std::uint64_t>(program.request.seed),
                              program.request.width};
  record_series(program.series, context, record);
  if (!runs.empty()) record.program_run = program_run_of(runs, program.runs.left());
  record.memory = peak_memory(runs);
  set_prices(program.request.energy, record.energy.made());
  if (program.series.raw_ms.empty()) record.energy.made().energy_status = {EnergyState::not_run};
  record.rates = rates_of(record);
  return record;
}

std::vector<Record> phase_records(const MeasuredProgram& program, const Record& whole) {
  std::vector<std::string> names;
  for (const ObservedRun* run : program.runs.sampled(program.series)) {
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
  for (const ObservedRun* run : program.runs.sampled(program.series)) {
    if (faults == 0) first = run->first_marker_fault;
    faults += run->marker_faults;
  }
  if (faults == 0) return "";
  return fmt::format("{}: {} lines about phases were no markers, the first: {}", program.series.name, faults, first);
}

}  // namespace assay
