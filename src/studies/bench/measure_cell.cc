#include "studies/bench/measure_cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "base/interrupt.h"
#include "kernels/gpu_bus_id.h"
#include "measure/sampling.h"
#include "results/derive.h"
#include "results/identity.h"
#include "runtime/non_finite.h"
#include "studies/bench/engines.h"
#include "studies/bench/outlook.h"
#include "studies/bench/padding_cost.h"
#include "studies/bench/processes.h"
#include "studies/bench/timed_cell.h"
#include "studies/bench/trace.h"
#include "studies/shared/hindrance.h"
#include "studies/shared/series_record.h"

namespace assay {
namespace {

/// Of a cell's budget, what timing its operations one by one may take on top.
constexpr double traced_share = 0.1;
/// Of a cell's budget, what the cost of padding may take on top.
constexpr double padding_share = 0.2;

std::string shown_cell(const BenchGroup& group, Extent extent) {
  return fmt::format("{} {} x {}", group.shown_name(), extent.batch, extent.seq);
}

/// Whether fewer rounds fit into the budget than an interval needs; says so where they do.
bool says_too_few(const BenchGroup& group, Extent extent, const Outlook& outlook) {
  if (group.request().rounds > 0 || group.request().least_rounds > 1) return false;  // As asked.
  const std::string words = too_few_rounds(outlook);
  if (words.empty()) return false;
  if (group.callbacks().say) group.callbacks().say(fmt::format("{}: {}", shown_cell(group, extent), words));
  return true;
}

SamplingOptions cell_options(const BenchGroup& group, const TimedCell& cell, double later_s) {
  const BenchRequest& request = group.request();
  const CellInputs& inputs = cell.inputs;
  SamplingOptions options;
  options.inputs = inputs.batches.size();
  options.warm_up_input = inputs.batches.size() / 2;
  options.draw_seed = request.model_options.seed + static_cast<std::uint64_t>(request.process) - 1;
  options.seconds = request.seconds;
  options.width = request.width;
  options.rounds = request.rounds;
  options.least_rounds = request.least_rounds;
  options.seed = request.model_options.seed;
  options.root = request.root;
  meter_windows(request.energy, group.power(), options);
  if (group.facts().gpu) options.gpu = gpu_conditions_reader(gpu_bus_id());
  options.counters = counters_with(cell.engines, request.root);
  if (ColdCaches* cold = group.cold(); cold != nullptr) options.before_run = [cold] { cold->empty(); };
  options.interrupted = group.callbacks().interrupted;
  options.most_first_run_s = std::max(60.0, 10 * request.seconds);
  options.progress = [&group, extent = inputs.extent, later_s](const SamplingProgress& p) {
    if (!group.callbacks().progress) return;
    group.callbacks().progress(fmt::format("{}: {} {}", shown_cell(group, extent), p.phase, p.subject),
                               p.seconds_left + later_s);
  };
  return options;
}

/// A device may refuse memory while it runs: libraries load their code then, and graphs take some.
std::vector<Series> sample_cell(const TimedCell& cell, const SamplingOptions& options, std::vector<Record>& records) {
  try {
    return with_memory_errors([&] { return sample(cell.subjects, options); });
  } catch (const OutOfMemory& e) {
    for (const std::size_t place : cell.all_places()) {
      records[place].outcome.status = Status::oom;
      records[place].outcome.reason = e.what();
    }
    return {};
  }
}

/// Samples in this process. `processes` becomes how many are to time the cell; the budget is shared among them.
std::vector<Series> sample_here(const BenchGroup& group, const TimedCell& cell, SamplingOptions& options,
                                int& processes, std::vector<Record>& records) {
  const double seconds = group.request().seconds;
  Outlook outlook{.seconds = seconds, .subjects = cell.subjects.size(), .round_s = least_round_s(cell, records)};
  const bool is_told = says_too_few(group, cell.inputs.extent, outlook);
  options.seconds_after_start = [&](const SamplingStart& start) {
    outlook.spent_s = start.warm_up_s;
    outlook.round_s = start.round_s;
    if (!is_told) says_too_few(group, cell.inputs.extent, outlook);
    processes = processes_for(group.request(), start_of(group, cell, start, records));
    if (processes > 1) options.least_rounds = std::max(options.least_rounds, least_rounds_a_process);
    return options.meter != nullptr ? seconds : seconds / processes;  // Energy is of this one.
  };
  std::vector<Series> series = sample_cell(cell, options, records);
  options.seconds_after_start = nullptr;
  return series;
}

/// A time says nothing where what was timed is no number. The last run's output still lies in the plan.
void refuse_non_finite_logits(const Plan& plan, Record& record) {
  if (record.latency->samples == 0) return;
  const std::optional<NonFiniteRun> run = find_non_finite(plan, "logits", {});
  if (!run) return;
  record.outcome.status = Status::not_finite;
  record.outcome.reason = "on the ids that were timed, " + words(*run);
}

/// What drawn batches add to the record of a pass: which they were, and the mean of their work.
void record_work(const BenchGroup& group, const TimedCell& cell, std::size_t member, const Series& series,
                 Record& record) {
  if (!cell.is_of_data()) return;
  record_batches(series.raw_inputs, cell.batches(), record.latency.made());
  cell.passes[member]->set_mean_work(series.raw_inputs, {group.model(), group.request().engine.program, group.facts()},
                                     record.evidence);
  remark_skipped(cell.inputs, record.evidence);
}

void trace_pass(const BenchGroup& group, TimedPass& pass, Record& record) {
  const bool stopped = is_set(group.callbacks().interrupted);
  if (stopped || record.outcome.status != Status::ok || group.cold() != nullptr) return;
  pass.take(0);
  record.evidence.operation_ms = trace_operations(pass.longest(), traced_share * group.request().seconds);
}

void record_pass(const BenchGroup& group, const TimedCell& cell, std::size_t member, const std::vector<Series>& series,
                 Record& record) {
  TimedPass& pass = *cell.passes[member];
  const BenchRequest& request = group.request();
  record_series(series[member],
                {series[0], group.power(), request.model_options.seed, request.width, record.latency->prepare_ms},
                record);
  record_work(group, cell, member, series[member], record);
  refuse_non_finite_logits(pass.current(), record);
  const bool is_refused = !pass.current().is_recorded();  // The plan says why.
  if (record.setting.graphs == Switch::on && is_refused) record.setting.graphs = Switch::off;
  trace_pass(group, pass, record);
}

void record_engine(const BenchGroup& group, const TimedCell& cell, std::size_t number,
                   const std::vector<Series>& series, Record& record) {
  const BenchRequest& request = group.request();
  const Series& own = series[cell.passes.size() + number];
  record_series(own, {series[0], group.power(), request.model_options.seed, request.width, record.latency->prepare_ms},
                record);
  if (cell.is_of_data()) record_batches(own.raw_inputs, cell.batches(), record.latency.made());
  cell.engines[number]->describe(record);
}

/// On the first precision, the baseline: what padding costs hardly depends on the precision.
void record_padding_cost(const BenchGroup& group, const TimedCell& cell, SamplingOptions options,
                         std::vector<Record>& records) {
  if (cell.places.empty()) return;
  Record& record = records[cell.places.front()];
  if (!cell.is_of_data() || record.outcome.status != Status::ok || is_set(group.callbacks().interrupted)) return;
  options.seconds = padding_share * group.request().seconds;
  options.rounds = 0;
  const auto cost = padding_cost(*cell.passes.front(), *cell.members.front()->instance, cell.inputs, options);
  if (!cost) return;
  Latency& latency = record.latency.made();
  latency.padding_cost = cost->value;
  if (!cost->interval) return;
  latency.padding_cost_low = cost->interval->low;
  latency.padding_cost_high = cost->interval->high;
}

std::vector<Contender> contenders_of(const TimedCell& cell) {
  std::vector<Contender> contenders;
  contenders.reserve(cell.members.size());
  for (const BenchGroup::Member* member : cell.members) contenders.push_back(member->contender);
  return contenders;
}

/// Times the cell in processes of their own, and appends what they sampled to its rows.
void sample_again(const BenchGroup& group, const TimedCell& cell, int processes, std::vector<Record>& records) {
  const StudyCallbacks& callbacks = group.callbacks();
  std::vector<Record*> rows;
  for (const std::size_t place : cell.places) {
    if (records[place].outcome.status == Status::ok) rows.push_back(&records[place]);
  }
  const std::vector<Contender> contenders = contenders_of(cell);
  CellAgain again{group.model(), contenders, cell.inputs.extent, group.request().seconds / processes};
  for (int number = 2; number <= processes && !rows.empty(); ++number) {
    if (is_set(callbacks.interrupted)) break;
    if (callbacks.progress)
      callbacks.progress(fmt::format("{}: process {} of {}", shown_cell(group, cell.inputs.extent), number, processes),
                         (processes - number + 1) * again.seconds * static_cast<double>(rows.size()));
    again.process = number;
    const CellAnswer answer = bench_in_child(again, group.request(), group.facts());
    if (is_set(callbacks.interrupted)) break;
    const std::string fault = answer.fault.empty() ? append_process(answer.records, rows) : answer.fault;
    if (fault.empty() || !callbacks.say) continue;
    callbacks.say(fmt::format("{}: process {} of {} is left out: {}", group.shown_name(), number, processes, fault));
  }
}

void record_run_spread(const BenchGroup& group, const TimedCell& cell, std::vector<Record>& records) {
  const auto& spread = group.callbacks().spread_between_runs;
  const std::vector<std::size_t> places = cell.all_places();
  if (!spread || places.empty()) return;
  const auto [latency, speedup] = spread(records[places.front()]);
  for (const std::size_t place : places) {
    Record& record = records[place];
    if (latency && record.latency) {
      record.latency.made().run_spread = latency->deviation;
      record.latency.made().run_spread_degrees = latency->degrees;
    }
    if (speedup && record.speedup && !is_baseline(record.setting)) {
      record.speedup.made().speedup_run_spread = speedup->deviation;
      record.speedup.made().speedup_run_spread_degrees = speedup->degrees;
    }
  }
}

/// A first run that found its weights packed by an earlier shape is none.
void drop_later_firsts(const TimedCell& cell, std::vector<Record>& records) {
  for (std::size_t i = 0; i < cell.members.size(); ++i) {
    if (cell.members[i]->is_packed) records[cell.places[i]].latency.made().first_ms.reset();
    cell.members[i]->is_packed = true;
  }
}

}  // namespace

void measure_cell(BenchGroup& group, const CellInputs& inputs, double later_s, std::vector<Record>& records) {
  const auto first = static_cast<std::ptrdiff_t>(records.size());
  TimedCell cell{.inputs = inputs};
  plan_cell(group, cell, records);
  SamplingOptions options = cell_options(group, cell, later_s);
  int processes = 1;
  const std::vector<Series> series = sample_here(group, cell, options, processes, records);
  if (series.empty()) return;
  if (!series[0].energy_fault.empty()) group.power() = {.source = {nullptr, series[0].energy_fault}};
  read_idle_again(group.power(), group.callbacks().interrupted);
  for (std::size_t i = 0; i < cell.passes.size(); ++i) record_pass(group, cell, i, series, records[cell.places[i]]);
  for (std::size_t i = 0; i < cell.engines.size(); ++i)
    record_engine(group, cell, i, series, records[cell.engine_places[i]]);
  if (group.request().process == 1) record_padding_cost(group, cell, options, records);
  if (processes > 1) sample_again(group, cell, processes, records);
  record_run_spread(group, cell, records);
  std::vector<Record> derived = with_derived({records.begin() + first, records.end()});
  std::move(derived.begin(), derived.end(), records.begin() + first);
  drop_later_firsts(cell, records);
}

}  // namespace assay
