#include "studies/bench/group.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "kernels/gpu_bus_id.h"
#include "quality/compare.h"
#include "results/derive.h"
#include "results/model_name.h"
#include "runtime/non_finite.h"
#include "studies/bench/padding_cost.h"
#include "studies/bench/processes.h"
#include "studies/bench/record.h"
#include "studies/bench/trace.h"
#include "studies/shared/hindrance.h"
#include "studies/shared/plan_record.h"
#include "studies/shared/random_ids.h"
#include "studies/shared/series_record.h"

namespace assay {
namespace {

/// The emulated operation that does most of the work, if any; of a ledger that the caller holds.
const LedgerRow* emulated_row(const std::vector<LedgerRow>& ledger) {
  const LedgerRow* most = nullptr;
  for (const LedgerRow& row : ledger) {
    if (row.verdict == Verdict::emulated && (most == nullptr || row.flops > most->flops)) most = &row;
  }
  return most;
}

/// Of a cell's budget, what timing its operations one by one may take on top.
constexpr double traced_share = 0.1;

/// A time says nothing where what was timed is no number. The last run's output still lies in the plan.
void refuse_non_finite_logits(const Plan& plan, Record& record) {
  if (record.latency->samples == 0) return;
  const std::optional<NonFiniteRun> run = find_non_finite(plan, "logits", {});
  if (!run) return;
  record.outcome.status = Status::not_finite;
  record.outcome.reason = "on the ids that were timed, " + words(*run);
}

/// Emulated operations become the outcome of a row that was not asked to run them.
bool is_left_out(Record& record) {
  const LedgerRow* emulated = emulated_row(record.evidence.ledger);
  if (emulated == nullptr) return false;
  record.outcome.status = Status::emulated;
  record.outcome.reason =
      fmt::format("{} computes {} in {} here ({}); --emulated measures it", record.setting.precision,
                  emulated->operation, name(emulated->operand), emulated->evidence);
  return true;
}

}  // namespace

BenchGroup::BenchGroup(const Model& model, MachineFacts facts, const GroupContext& context)
    : model_(model),
      shown_name_(shown_model_name(model.name)),
      request_(context.request),
      callbacks_(context.callbacks),
      power_(context.power),
      number_(context.number),
      facts_(std::move(facts)) {}

void BenchGroup::open(const std::vector<Contender>& contenders, const Setting& setting) {
  make_cold_caches();
  for (const Contender& contender : contenders) {
    Member member{contender, {.setting = setting}, nullptr};
    member.blank.setting.precision = contender.precision;
    member.blank.outcome.group = number_;
    EngineOptions engine = request_.engine;
    engine.overrides = contender.overrides;
    const auto hindrance =
        hindrance_of([&] { member.instance = make_instance(model_, contender.precision, engine, facts_); });
    if (hindrance) set_outcome(*hindrance, member.blank.outcome);
    if (member.instance) member.blank.setting.precision = member.instance->precision().name();
    members_.push_back(std::move(member));
  }
}

/// Before plans are fitted into what memory is left. A device that is not there is each row's to say.
void BenchGroup::make_cold_caches() {
  if (request_.caches == Caches::warm) return;
  try {
    cold_ = std::make_unique<ColdCaches>(find_backend(request_.engine.device).memory(), facts_);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& e) {
    if (e.code() != ExitCode::lacking) throw;
  }
}

/// Before anything is packed here, so that a trial has the memory for itself.
void BenchGroup::try_apart(const std::vector<Extent>& extents) {
  for (const Extent extent : extents) {
    for (Member& member : members_) {
      if (!member.instance) continue;
      if (callbacks_.progress)
        callbacks_.progress(fmt::format("{} {} {} x {}: in a process of its own", shown_name_,
                                        member.blank.setting.precision, extent.batch, extent.seq),
                            0);
      ResidentRequest request = trial_request(model_, request_, extent);
      request.precision = member.contender.precision;
      request.engine.overrides = member.contender.overrides;
      ResidentAnswer answer = resident_in_child(request, facts_, {request_.trial_program, trial_limit_s(request_)});
      if (is_set(callbacks_.interrupted)) return;
      member.trials.push_back({extent, std::move(answer)});
    }
  }
}

std::vector<Record> BenchGroup::blanks(const CellInputs& inputs) const {
  std::vector<Record> all;
  for (const Member& member : members_) {
    all.push_back(member.blank);
    all.back().setting.batch = inputs.extent.batch;
    all.back().setting.seq = inputs.extent.seq;
    set_inputs(request_, inputs, all.back().setting);
  }
  return all;
}

/// Memory that one more plan may take: what was free at the start, less the buffers of other plans and all that is
/// held.
std::optional<std::int64_t> BenchGroup::free_bytes(std::int64_t arenas) const {
  if (facts_.available_bytes <= 0) return std::nullopt;
  std::int64_t left = facts_.available_bytes - arenas;
  for (const Member& member : members_) {
    if (member.instance) left -= member.instance->resident_bytes();
  }
  return left;
}

std::unique_ptr<Plan> BenchGroup::make_plan(Member& member, const PlanOptions& options, Record& record) {
  if (!member.instance) return nullptr;
  const ResidentAnswer* trial = find_trial(member.trials, options.extent);
  if (trial != nullptr) {
    set_outcome(*trial, record.outcome);
    record.memory = MemoryUse{.resident_bytes = trial->bytes};
  }
  if (record.outcome.status != Status::ok) return nullptr;
  std::unique_ptr<Plan> plan;
  const auto hindrance = hindrance_of([&] {
    const double before_s = now_s();
    plan = std::make_unique<Plan>(*member.instance, options);
    record.latency.made().prepare_ms = (now_s() - before_s) * 1e3;
    record.memory = memory_of(*plan, *member.instance, record.memory->resident_bytes);
    record.evidence = evidence_of(*plan, *member.instance, facts_);
    record.evidence.flops = model_flops(model_, request_.engine.program, options.extent);
  });
  if (hindrance) {
    set_outcome(*hindrance, record.outcome);
    return nullptr;
  }
  if (request_.emulated == Emulated::left_out && is_left_out(record)) return nullptr;
  if (trial != nullptr) say_declined(*trial, record);
  return plan;
}

void BenchGroup::say_declined(const ResidentAnswer& trial, const Record& record) const {
  if (trial.ending != Ending::declined || !callbacks_.say) return;
  callbacks_.say(fmt::format("{} {}: timed without a trial: {}", shown_name_, record.setting.precision, trial.fault));
}

bool BenchGroup::says_too_few(Extent extent, const Outlook& outlook) const {
  if (request_.rounds > 0 || request_.least_rounds > 1) return false;  // As asked.
  const std::string words = too_few_rounds(outlook);
  if (words.empty()) return false;
  if (callbacks_.say) callbacks_.say(fmt::format("{} {} x {}: {}", shown_name_, extent.batch, extent.seq, words));
  return true;
}

BenchGroup::Cell BenchGroup::plan_cell(const CellInputs& inputs, std::vector<Record>& records) {
  Cell cell{.inputs = inputs};
  std::int64_t arenas = 0;
  const std::vector<Record> rows = blanks(inputs);
  const bool is_masked = cell.is_of_data() && !inputs.batches.front().mask.empty();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    Record record = rows[i];
    if (callbacks_.progress)
      callbacks_.progress(fmt::format("{} {}: plan and pack", shown_name_, member.blank.setting.precision), 0);
    const PlanOptions options{.extent = cell.is_of_data() ? inputs.batches.front().extent : inputs.extent,
                              .mask = is_masked ? AttentionMask::given : AttentionMask::absent,
                              .graphs = request_.engine.graphs,
                              .free_bytes = free_bytes(arenas)};
    auto plan = make_plan(member, options, record);
    records.push_back(std::move(record));
    if (!plan) continue;
    arenas += plan->arena_bytes();
    if (cell.batches().empty())
      cell.random.push_back(
          {options.extent, random_ids(model_, options.extent, {request_.model_options.seed, IdsFor::timing}), {}, {}});
    cell.passes.push_back(std::make_unique<TimedPass>(std::move(plan), *member.instance, cell.batches()));
    cell.subjects.push_back(cell.passes.back()->subject(member.blank.setting.precision));
    cell.contenders.push_back(member.contender);
    cell.places.push_back(records.size() - 1);
  }
  return cell;
}

SamplingOptions BenchGroup::sampling_options(const CellInputs& inputs, double later_s) {
  SamplingOptions options;
  options.inputs = inputs.batches.size();
  options.warm_up_input = inputs.batches.size() / 2;
  options.draw_seed = request_.model_options.seed + static_cast<std::uint64_t>(request_.process) - 1;
  options.seconds = request_.seconds;
  options.width = request_.width;
  options.rounds = request_.rounds;
  options.least_rounds = request_.least_rounds;
  options.seed = request_.model_options.seed;
  options.root = request_.root;
  meter_windows(request_.energy, power_, options);
  if (facts_.gpu) options.gpu = gpu_conditions_reader(gpu_bus_id());
  if (cold_) options.before_run = [this] { cold_->empty(); };
  options.interrupted = callbacks_.interrupted;
  options.most_first_run_s = std::max(60.0, 10 * request_.seconds);
  options.progress = [this, extent = inputs.extent, later_s](const SamplingProgress& p) {
    if (!callbacks_.progress) return;
    callbacks_.progress(fmt::format("{} {} x {}: {} {}", shown_name_, extent.batch, extent.seq, p.phase, p.subject),
                        p.seconds_left + later_s);
  };
  return options;
}

CellStart BenchGroup::start_of(const Cell& cell, const SamplingStart& sampling,
                               const std::vector<Record>& records) const {
  CellStart start{.start_s = sampling.first_runs_s,
                  .round_s = sampling.round_s,
                  .budget_s = request_.seconds * static_cast<double>(cell.subjects.size())};
  std::int64_t held = 0;
  std::int64_t arenas = 0;
  for (const std::size_t place : cell.places) start.start_s += records[place].latency->prepare_ms.value_or(0) * 1e-3;
  for (const auto& pass : cell.passes) arenas += pass->own_bytes();
  for (const Member& member : members_) held += member.instance ? member.instance->resident_bytes() : 0;
  const std::optional<std::int64_t> free = free_bytes(arenas);
  start.fits_twice = !free || *free >= held + arenas;
  return start;
}

double BenchGroup::least_round_s(const Cell& cell, const std::vector<Record>& records) {
  double ms = 0;
  for (const std::size_t place : cell.places) ms += records[place].evidence.matmul_ms.value_or(0);
  return 1e-3 * ms;
}

void BenchGroup::sample_again(const Cell& cell, Extent extent, int processes, std::vector<Record>& records) {
  std::vector<Record*> rows;
  for (const std::size_t place : cell.places) {
    if (records[place].outcome.status == Status::ok) rows.push_back(&records[place]);
  }
  CellAgain again{model_, cell.contenders, extent, request_.seconds / processes};
  for (int number = 2; number <= processes && !rows.empty(); ++number) {
    if (is_set(callbacks_.interrupted)) break;
    if (callbacks_.progress)
      callbacks_.progress(
          fmt::format("{} {} x {}: process {} of {}", shown_name_, extent.batch, extent.seq, number, processes),
          (processes - number + 1) * again.seconds * static_cast<double>(rows.size()));
    again.process = number;
    const CellAnswer answer = bench_in_child(again, request_, facts_);
    if (is_set(callbacks_.interrupted)) break;
    const std::string fault = answer.fault.empty() ? append_process(answer.records, rows) : answer.fault;
    if (fault.empty() || !callbacks_.say) continue;
    callbacks_.say(fmt::format("{}: process {} of {} is left out: {}", shown_name_, number, processes, fault));
  }
}

/// A device may refuse memory while it runs: libraries load their code then, and graphs take some.
std::vector<Series> BenchGroup::sample_cell(const Cell& cell, const SamplingOptions& options,
                                            std::vector<Record>& records) {
  try {
    return with_memory_errors([&] { return sample(cell.subjects, options); });
  } catch (const OutOfMemory& e) {
    for (const std::size_t place : cell.places) {
      records[place].outcome.status = Status::oom;
      records[place].outcome.reason = e.what();
    }
    return {};
  }
}

/// What drawn batches add to the record of a pass: which they were, and the mean of their work.
void BenchGroup::record_work(const Cell& cell, std::size_t member, const Series& series, Record& record) const {
  if (!cell.is_of_data()) return;
  record_batches(series.raw_inputs, cell.batches(), record.latency.made());
  cell.passes[member]->set_mean_work(series.raw_inputs, {model_, request_.engine.program, facts_}, record.evidence);
  remark_skipped(cell.inputs, record.evidence);
}

void BenchGroup::record_run_spread(const Cell& cell, std::vector<Record>& records) const {
  if (!callbacks_.spread_between_runs || cell.places.empty()) return;
  const auto [latency, speedup] = callbacks_.spread_between_runs(records[cell.places.front()].setting.machine);
  for (const std::size_t place : cell.places) {
    Record& record = records[place];
    if (latency && record.latency) {
      record.latency.made().run_spread = latency->deviation;
      record.latency.made().run_spread_degrees = latency->degrees;
    }
    if (speedup && record.speedup && record.setting.precision != record.setting.baseline) {
      record.speedup.made().speedup_run_spread = speedup->deviation;
      record.speedup.made().speedup_run_spread_degrees = speedup->degrees;
    }
  }
}

/// On the first precision, the baseline: what padding costs hardly depends on the precision.
void BenchGroup::record_padding_cost(const Cell& cell, SamplingOptions options, std::vector<Record>& records) const {
  constexpr double share_of_budget = 0.2;
  Record& record = records[cell.places.front()];
  if (!cell.is_of_data() || record.outcome.status != Status::ok || is_set(callbacks_.interrupted)) return;
  const auto member = std::find_if(members_.begin(), members_.end(),
                                   [&](const Member& one) { return one.contender == cell.contenders.front(); });
  options.seconds = share_of_budget * request_.seconds;
  options.rounds = 0;
  const auto cost = padding_cost(*cell.passes.front(), *member->instance, cell.inputs, options);
  if (!cost) return;
  Latency& latency = record.latency.made();
  latency.padding_cost = cost->value;
  if (!cost->interval) return;
  latency.padding_cost_low = cost->interval->low;
  latency.padding_cost_high = cost->interval->high;
}

void BenchGroup::drop_later_firsts(const Cell& cell, std::vector<Record>& records) {
  for (Member& member : members_) {
    for (const std::size_t place : cell.places) {
      Record& record = records[place];
      if (record.setting.precision != member.blank.setting.precision) continue;
      if (member.is_packed) record.latency.made().first_ms.reset();  // An earlier shape has packed the weights.
      member.is_packed = true;
    }
  }
}

void BenchGroup::measure(const CellInputs& inputs, double later_s, std::vector<Record>& records) {
  const std::size_t first = records.size();
  const Cell cell = plan_cell(inputs, records);
  SamplingOptions options = sampling_options(inputs, later_s);
  int processes = 1;
  Outlook outlook{
      .seconds = request_.seconds, .subjects = cell.subjects.size(), .round_s = least_round_s(cell, records)};
  const bool is_told = says_too_few(inputs.extent, outlook);
  options.seconds_after_start = [&](const SamplingStart& start) {
    outlook.spent_s = start.warm_up_s;
    outlook.round_s = start.round_s;
    if (!is_told) says_too_few(inputs.extent, outlook);
    processes = processes_for(request_, start_of(cell, start, records));
    if (processes > 1) options.least_rounds = std::max(options.least_rounds, least_rounds_a_process);
    return options.meter != nullptr ? request_.seconds : request_.seconds / processes;  // Energy is of this one.
  };
  const std::vector<Series> series = sample_cell(cell, options, records);
  if (series.empty()) return;
  if (!series[0].energy_fault.empty()) power_ = {.source = {nullptr, series[0].energy_fault}};
  read_idle_again(power_, callbacks_.interrupted);
  for (std::size_t i = 0; i < series.size(); ++i) {
    Record& record = records[cell.places[i]];
    record_series(series[i],
                  {series[0], power_, request_.model_options.seed, request_.width, record.latency->prepare_ms}, record);
    record_work(cell, i, series[i], record);
    refuse_non_finite_logits(cell.passes[i]->current(), record);
    const bool stopped = is_set(callbacks_.interrupted);
    if (record.setting.graphs == Switch::on && !cell.passes[i]->current().is_recorded())
      record.setting.graphs = Switch::off;  // Refused for want of memory.
    if (!stopped && record.outcome.status == Status::ok && !cold_) {
      cell.passes[i]->take(0);
      record.evidence.operation_ms = trace_operations(cell.passes[i]->longest(), traced_share * request_.seconds);
    }
  }
  if (request_.process == 1) record_padding_cost(cell, options, records);
  if (processes > 1) sample_again(cell, inputs.extent, processes, records);
  record_run_spread(cell, records);
  const auto begin = records.begin() + static_cast<std::ptrdiff_t>(first);
  std::vector<Record> derived = with_derived({begin, records.end()});
  std::move(derived.begin(), derived.end(), begin);
  drop_later_firsts(cell, records);
}

/// Empty where there is something to score.
std::optional<QualityStatus> BenchGroup::why_not_scored(const QualityData& data) const {
  if (!data.set) return data.status;
  if (request_.engine.program.logits == LogitRows::last) return QualityStatus{QualityState::last_position_only};
  return std::nullopt;
}

Evaluation BenchGroup::evaluate_all(const std::vector<Instance*>& instances, const QualityData& data) const {
  EvaluateOptions options;
  options.interrupted = callbacks_.interrupted;
  options.free_bytes = free_bytes(0);
  const double begin_s = now_s();
  options.progress = [&](double share) {
    if (!callbacks_.progress) return;
    const double left_s = share > 0 ? (now_s() - begin_s) * (1 - share) / share : 0;
    callbacks_.progress(fmt::format("{}: quality on {}", shown_name_, data.set->data), left_s);
  };
  return evaluate(instances, *data.set, options);
}

void BenchGroup::score(const QualityData& data, std::vector<Record>& records) const {
  std::vector<Instance*> instances;
  std::vector<std::string> names;
  for (const Member& member : members_) {
    const bool ran = std::any_of(records.begin(), records.end(), [&](const Record& record) {
      return record.setting.precision == member.blank.setting.precision && record.outcome.status == Status::ok;
    });
    if (!member.instance || !ran) continue;
    instances.push_back(member.instance.get());
    names.push_back(member.blank.setting.precision);
  }
  std::optional<QualityStatus> failure = why_not_scored(data);
  Evaluation evaluation;
  if (!failure && !instances.empty()) {
    try {
      evaluation = with_memory_errors([&] { return evaluate_all(instances, data); });
    } catch (const OutOfMemory& e) {
      failure = {QualityState::oom, e.what()};
    } catch (const Error& e) {
      if (e.code() != ExitCode::lacking) throw;
      failure = {QualityState::unsupported, e.what()};
    }
  }
  for (Record& record : records) {
    const auto found = std::find(names.begin(), names.end(), record.setting.precision);
    if (found == names.end() || record.outcome.status != Status::ok) continue;
    if (failure) {
      record.quality.made().quality_status = *failure;
      continue;
    }
    const QualityRows* baseline = names[0] == record.setting.baseline ? &evaluation.qualities[0] : nullptr;
    const auto index = static_cast<std::size_t>(found - names.begin());
    record_quality(model_, data, {evaluation, baseline, evaluation.qualities[index]}, record);
  }
}

}  // namespace assay
