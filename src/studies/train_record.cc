#include "studies/train_record.h"

#include <algorithm>
#include <set>
#include <span>

#include "statistics/statistics.h"
#include "studies/bench_record.h"

namespace assay {
namespace {

/// A phase's place in a step, and its fields.
struct PhaseFields {
  std::optional<double> Record::*median;
  std::optional<double> Record::*mean;
  std::optional<double> Record::*deviation;
  std::optional<double> Record::*energy_j;
};
constexpr PhaseFields phase_fields[step_phases] = {
    {&Record::forward_ms, &Record::mean_forward_ms, &Record::std_forward_ms, &Record::forward_energy_j},
    {&Record::backward_ms, &Record::mean_backward_ms, &Record::std_backward_ms, &Record::backward_energy_j},
    {&Record::optimizer_ms, &Record::mean_optimizer_ms, &Record::std_optimizer_ms, &Record::optimizer_energy_j}};

/// The steps behind a warm-up.
std::span<const StepSample> timed(const Variant& variant, std::int64_t warmup) {
  return std::span(variant.steps).subspan(std::min(static_cast<std::size_t>(warmup), variant.steps.size()));
}

std::size_t phases_of(const Variant& variant) {
  return static_cast<std::size_t>(variant.options.parts) + 1;
}

void record_energy(std::span<const StepSample> steps, std::size_t phase, const Power& power, Record& record) {
  EnergySum sum;
  if (!power.source.meter || steps.empty()) return;
  for (const StepSample& step : steps)
    sum.add(power.source.meter->facts(), step.phase_j(phase), step.phase_ms(phase) * 1e-3, step.phase_missed_j(phase));
  if (sum.short_windows > 0) return;
  record.*phase_fields[phase].energy_j =
      sum.joules / static_cast<double>(steps.size()) / static_cast<double>(record.batch);
}

void record_phases(const TrainCell& cell, const Variant& variant, std::int64_t warmup, Record& record) {
  const std::span<const StepSample> steps = timed(variant, warmup);
  for (std::size_t phase = 0; phase < phases_of(variant); ++phase) {
    std::vector<double> ms;
    for (const StepSample& step : steps) ms.push_back(step.phase_ms(phase));
    const std::optional<Summary> summary = summarise(ms);
    if (!summary) return;
    record.*phase_fields[phase].median = summary->median;
    record.*phase_fields[phase].mean = summary->mean;
    record.*phase_fields[phase].deviation = summary->standard_deviation;
    record_energy(steps, phase, cell.power, record);
  }
  record.step_ms = record.median_ms;
  record.mean_step_ms = record.mean_ms;
  record.std_step_ms = record.std_ms;
}

void add_conditions(std::span<const StepSample> steps, Conditions& conditions) {
  for (const StepSample& step : steps) {
    conditions.add(step.before, step.after);
    conditions.throttle_reasons |= step.throttle_reasons;
  }
  if (steps.empty()) return;
  conditions.frequency_before_mhz = steps.front().frequency_mhz;
  conditions.frequency_after_mhz = steps.back().frequency_mhz;
  conditions.temperature_before_c = steps.front().temperature_c;
  conditions.temperature_after_c = steps.back().temperature_c;
}

/// The variant's steps as samples of whole steps.
Series series_of(const TrainCell& cell, const Variant& variant, std::int64_t warmup) {
  const std::span<const StepSample> steps = timed(variant, warmup);
  Series series;
  series.name = variant.options.precision.name();
  if (!variant.steps.empty()) series.first_ms = variant.steps.front().step_ms();
  series.raw_ms = steps_ms(variant, warmup);
  const std::vector<double> all = steps_ms(variant, 0);
  series.warm_up_ms.assign(all.begin(), all.end() - std::ssize(steps));
  for (const StepSample& step : steps) {
    series.timed_s += step.step_ms() * 1e-3;
    ++series.timed_runs;
    if (!cell.power.source.meter) continue;
    if (!series.energy) series.energy.emplace();
    if (step.step_ms() > 0) series.window_power_w.push_back(step.step_j() / step.step_ms() * 1e3);
    series.energy->add(cell.power.source.meter->facts(), step.step_j(), step.step_ms() * 1e-3, step.step_missed_j());
    ++series.energy->runs;
  }
  add_conditions(steps, series.conditions);
  series.throttled_rounds = variant.throttled_rounds;
  if (variant.device_time && variant.device_time->enqueue_s) {
    series.device_ms = {variant.device_time->device_s * 1e3};
    series.enqueue_ms = {*variant.device_time->enqueue_s * 1e3};
  }
  series.stopped_by = variant.status == Status::interrupted ? StoppedBy::interrupted : StoppedBy::rounds;
  return series;
}

/// The variant that others at this shape compare with: the baseline's precision, with the same fusion, interleaved.
const Variant* baseline_of(const TrainCell& cell, const Variant& variant, const Record& record) {
  const auto found = std::find_if(cell.variants.begin(), cell.variants.end(), [&](const Variant& other) {
    return other.options.precision.name() == record.baseline && other.fusion == variant.fusion &&
           other.group == variant.group && other.status == Status::ok;
  });
  return found == cell.variants.end() ? nullptr : &*found;
}

/// Bytes of distinct parameters, gradients and moments that the plans read whole.
double state_bytes_read(std::initializer_list<const Plan*> plans) {
  std::set<std::string> seen;
  double total = 0;
  for (const Plan* plan : plans) {
    if (plan == nullptr) continue;
    const Program& program = plan->program();
    for (const Step& step : plan->steps()) {
      const Node& node = program.nodes[step.node];
      if (node.operation == &op::embedding || node.operation == &op::add_rows) continue;
      for (const ValueId id : node.inputs) {
        if (id == no_value || program.value(id).source != Source::state) continue;
        if (seen.insert(program.value(id).name).second)
          total += static_cast<double>(storage_bytes(program, id, plan->options().extent));
      }
    }
  }
  return total;
}

std::int64_t parameter_bytes(const Program& step) {
  std::int64_t total = 0;
  for (std::size_t id = 0; id < step.values.size(); ++id) {
    if (is_parameter(step.values[id])) total += storage_bytes(step, static_cast<ValueId>(id), {});
  }
  return total;
}

void record_least_times(const Plan& plan, const MachineFacts& facts, Record& record) {
  const LeastTimes least = least_times(plan, facts);
  record.instruction_ms = least.instruction_ms;
  record.matmul_ms = least.matmul_ms;
  record.forward_instruction_ms = least_times(plan, facts, Phase::forward).instruction_ms;
  record.backward_instruction_ms = least_times(plan, facts, Phase::backward).instruction_ms;
}

/// What the plans know. A backward costs twice its forward's products: one for each factor's gradient.
void record_plans(const TrainCell& cell, const Variant& variant, Record& record) {
  const double forward = model_flops(cell.model, {}, cell.extent);
  record.flops = variant.options.parts == StepParts::forward ? forward : 3 * forward;
  record.peak_bytes = variant.needed_bytes;
  if (variant.trainer == nullptr || variant.trainer->step_plan() == nullptr) return;
  Trainer& trainer = *variant.trainer;
  const Plan& plan = *trainer.step_plan();
  if (record.graphs == "on" && !plan.is_recorded()) record.graphs = "off";  // Refused for want of memory.
  record.arena_bytes = plan.arena_bytes();
  record.peak_bytes = trainer.state().bytes() + plan.arena_bytes();
  record.model_bytes = parameter_bytes(plan.program());
  record.weight_bytes_read = state_bytes_read({&plan, trainer.norm_plan(), trainer.update_plan()});
  if (trainer.update_plan() != nullptr) record.optimizer_bytes_read = state_bytes_read({trainer.update_plan()});
  record.inputs = plan.ledger().inputs;
  record.moved_bytes = 0;
  for (const Plan* part : {trainer.step_plan(), trainer.norm_plan(), trainer.update_plan()}) {
    if (part == nullptr) continue;
    *record.moved_bytes += part->bytes();
    for (const double bytes : operation_bytes(*part)) record.operation_bytes.push_back(bytes);
    for (const LedgerRow& row : part->ledger().rows) record.ledger.push_back(row);
  }
  record_peaks(cell.facts, record);
  record_least_times(plan, cell.facts, record);
}

/// What the record's parts that bench fills are asked with: no width of the interval.
BenchRequest as_bench(const TrainCell& cell, const Variant& variant) {
  BenchRequest request;
  request.engine.device = cell.request.device;
  request.engine.fusion = variant.fusion;
  request.engine.graphs = variant.options.graphs;
  request.model_options = cell.request.model_options;
  request.width = 0;
  request.energy = cell.request.energy;
  return request;
}

Record blank(const TrainCell& cell, const Variant& variant, std::int64_t warmup) {
  Record record = blank_record(cell.model, as_bench(cell, variant), cell.facts);
  record.precision = variant.options.precision.name();
  record.batch = cell.extent.batch;
  record.seq = cell.extent.seq;
  record.mode = name(variant.options.parts);
  record.recompute = name(variant.options.recompute);
  record.warmup_steps = warmup;
  record.group = variant.group;
  record.status = variant.status;
  record.energy_status = "not run";
  if (!variant.reason.empty()) record.reason = variant.reason;
  return record;
}

}  // namespace

std::vector<double> steps_ms(const Variant& variant, std::int64_t warmup) {
  std::vector<double> ms;
  for (const StepSample& step : timed(variant, warmup)) ms.push_back(step.step_ms());
  return ms;
}

Record record_of(const TrainCell& cell, const Variant& variant, std::int64_t warmup) {
  Record record = blank(cell, variant, warmup);
  record_plans(cell, variant, record);
  if (timed(variant, warmup).empty() || variant.status == Status::too_slow) return record;
  record.prepare_ms = variant.prepare_ms;
  const Variant* baseline = baseline_of(cell, variant, record);
  const BenchRequest request = as_bench(cell, variant);
  const Series compared = baseline != nullptr ? series_of(cell, *baseline, warmup) : Series{};
  record_series(series_of(cell, variant, warmup), {compared, cell.power, request}, record);
  record.steady.reset();  // The warm-up is as long as asked.
  record_prices(request.energy, record);
  derive(record);
  record_phases(cell, variant, warmup, record);
  return record;
}

}  // namespace assay
