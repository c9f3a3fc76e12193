#include "studies/train_benchmark/record.h"

#include <algorithm>
#include <set>
#include <span>

#include "results/derive.h"
#include "statistics/statistics.h"
#include "studies/peers/timed_engine.h"
#include "studies/shared/plan_record.h"
#include "studies/shared/series_record.h"
#include "studies/shared/setting.h"
#include "studies/train_benchmark/pace.h"

namespace assay {
namespace {

/// A phase's place in a step, and its fields.
struct PhaseFields {
  std::optional<double> Training::*median;
  std::optional<double> Training::*mean;
  std::optional<double> Training::*deviation;
  std::optional<double> Training::*energy_j;
};
constexpr PhaseFields phase_fields[step_phases] = {
    {&Training::forward_ms, &Training::mean_forward_ms, &Training::std_forward_ms, &Training::forward_energy_j},
    {&Training::backward_ms, &Training::mean_backward_ms, &Training::std_backward_ms, &Training::backward_energy_j},
    {&Training::optimizer_ms, &Training::mean_optimizer_ms, &Training::std_optimizer_ms,
     &Training::optimizer_energy_j}};

/// The steps behind a warm-up: of every warm-up as many, so that rows of several differ in nothing else.
std::span<const StepSample> timed(const Variant& variant, std::int64_t warmup) {
  const std::size_t first = std::min(static_cast<std::size_t>(warmup), variant.steps.size());
  return std::span(variant.steps).subspan(first, std::min(variant.counted, variant.steps.size() - first));
}

std::size_t phases_of(const Variant& variant) {
  return static_cast<std::size_t>(variant.options.parts) + 1;
}

/// Of one sequence. Absent where a phase was too short for the meter.
std::optional<double> phase_energy_j(std::span<const StepSample> steps, std::size_t phase, const TrainCell& cell) {
  EnergySum sum;
  if (!cell.power.source.meter || steps.empty()) return std::nullopt;
  for (const StepSample& step : steps)
    sum.add(cell.power.source.meter->facts(), step.phase_j(phase), step.phase_ms(phase) * 1e-3,
            step.phase_missed_j(phase));
  if (sum.short_windows > 0) return std::nullopt;
  return sum.joules / static_cast<double>(steps.size()) / static_cast<double>(cell.extent.batch);
}

/// `whole`: of the steps.
Training training_of(const TrainCell& cell, const Variant& variant, std::int64_t warmup, const Latency& whole) {
  const std::span<const StepSample> steps = timed(variant, warmup);
  Training training{.step_ms = whole.median_ms, .mean_step_ms = whole.mean_ms, .std_step_ms = whole.std_ms};
  for (std::size_t phase = 0; phase < phases_of(variant); ++phase) {
    std::vector<double> ms;
    for (const StepSample& step : steps) ms.push_back(step.phase_ms(phase));
    const Latency one = latency_of(ms);
    training.*phase_fields[phase].median = one.median_ms;
    training.*phase_fields[phase].mean = one.mean_ms;
    training.*phase_fields[phase].deviation = one.std_ms;
    if (variant.engine == nullptr) training.*phase_fields[phase].energy_j = phase_energy_j(steps, phase, cell);
  }
  return training;
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
  const std::size_t first = std::min(static_cast<std::size_t>(warmup), variant.steps.size());
  for (const StepSample& step : std::span(variant.steps).first(first)) series.warm_up_ms.push_back(step.step_ms());
  for (const StepSample& step : steps) {
    series.timed_s += step.step_ms() * 1e-3;
    ++series.timed_runs;
    if (!cell.power.source.meter) continue;
    if (!series.energy) series.energy.emplace();
    if (step.step_ms() > 0) series.window_power_w.push_back(step.step_j() / step.step_ms() * 1e3);
    series.energy->add(cell.power.source.meter->facts(), step.step_j(), step.step_ms() * 1e-3, step.step_missed_j());
    series.energy->add_load(step.before, step.after);
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
const Variant* baseline_of(const TrainCell& cell, const Variant& variant, const std::string& baseline) {
  const auto found = std::find_if(cell.variants.begin(), cell.variants.end(), [&](const Variant& other) {
    return other.engine == nullptr && other.options.precision.name() == baseline && other.fusion == variant.fusion &&
           other.step == variant.step && other.group == variant.group && other.status == Status::ok;
  });
  return found == cell.variants.end() ? nullptr : &*found;
}

/// Bytes of distinct parameters, frozen weights, gradients and moments that the plans read whole.
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
        if (id == no_value) continue;
        const Value& value = program.value(id);
        if (value.source != Source::state && !value.constant) continue;
        if (seen.insert(value.constant ? fmt::format("constant {}", id) : value.name).second)
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

/// What the plans know.
Evidence training_evidence(const TrainCell& cell, const Variant& variant) {
  Evidence evidence{.flops = step_flops(cell, variant.options)};
  if (variant.process != nullptr)
    evidence.ledger = ledger_of(variant.process->operations(), variant.options.precision.name(), cell.facts);
  if (variant.trainer == nullptr || variant.trainer->step_plan() == nullptr) return evidence;
  Trainer& trainer = *variant.trainer;
  const Plan& plan = *trainer.step_plan();
  evidence.inputs = plan.ledger().inputs;
  evidence.weight_bytes_read = state_bytes_read({&plan, trainer.norm_plan(), trainer.update_plan()});
  if (trainer.update_plan() != nullptr) evidence.optimizer_bytes_read = state_bytes_read({trainer.update_plan()});
  evidence.moved_bytes = 0;
  for (const Plan* part : {trainer.step_plan(), trainer.norm_plan(), trainer.update_plan()}) {
    if (part == nullptr) continue;
    *evidence.moved_bytes += part->bytes();
    for (const double bytes : operation_bytes(*part)) evidence.operation_bytes.push_back(bytes);
    for (const LedgerRow& row : part->ledger().rows) evidence.ledger.push_back(row);
  }
  set_peaks(cell.facts, evidence);
  const LeastTimes least = least_times(plan, cell.facts);
  evidence.instruction_ms = least.instruction_ms;
  evidence.matmul_ms = least.matmul_ms;
  evidence.forward_instruction_ms = least_times(plan, cell.facts, Phase::forward).instruction_ms;
  evidence.backward_instruction_ms = least_times(plan, cell.facts, Phase::backward).instruction_ms;
  return evidence;
}

MemoryUse memory_of(const Variant& variant) {
  if (variant.engine != nullptr)
    return {.resident_bytes = variant.process != nullptr ? variant.process->peak_bytes() : std::nullopt};
  if (variant.trainer == nullptr || variant.trainer->step_plan() == nullptr)
    return {.peak_bytes = variant.needed_bytes};
  const Plan& plan = *variant.trainer->step_plan();
  const std::int64_t frozen = plan.peak_bytes() - plan.arena_bytes();
  return {.model_bytes = parameter_bytes(plan.program()) + frozen,
          .arena_bytes = plan.arena_bytes(),
          .peak_bytes = variant.trainer->state().bytes() + plan.peak_bytes()};
}

/// Whether steps ran as graphs: asked for, and made by the device.
Switch graphs_of(const Variant& variant) {
  const bool planned = variant.trainer != nullptr && variant.trainer->step_plan() != nullptr;
  const bool refused = planned && !variant.trainer->step_plan()->is_recorded();
  return switched(variant.options.graphs == Graphs::on && !refused);
}

Recomputed recomputed(Recompute recompute) {
  if (recompute == Recompute::none) return Recomputed::none;
  return recompute == Recompute::attention ? Recomputed::attention : Recomputed::block;
}

Mode mode_of(StepParts parts) {
  if (parts == StepParts::forward) return Mode::forward;
  return parts == StepParts::whole ? Mode::step : Mode::forward_backward;
}

/// How it differs from an AdamW step of all weights.
std::string variant_words(const TrainCell& cell, const Variant& variant) {
  const ModelConfig& config = cell.model.config;
  const std::string adapters =
      config.adapters.empty() ? "" : fmt::format("adapters of rank {}", config.adapters.front().rank);
  const std::string step = words(variant.step);
  return adapters + (adapters.empty() || step.empty() ? "" : ", ") + step;
}

Setting training_setting(const TrainCell& cell, const Variant& variant, std::int64_t warmup) {
  Setting setting = setting_on(cell.request.device, cell.request.model_options.seed, cell.facts);
  set_model(cell.model, setting);
  setting.precision = variant.options.precision.name();
  setting.batch = cell.extent.batch;
  setting.seq = cell.extent.seq;
  setting.fusion = switched(variant.fusion == Fusion::on);
  if (setting.graphs) setting.graphs = graphs_of(variant);
  setting.mode = mode_of(variant.options.parts);
  setting.recompute = recomputed(variant.options.recompute);
  setting.warmup_steps = warmup;
  if (const std::string step = variant_words(cell, variant); !step.empty()) setting.step = step;
  if (variant.engine != nullptr) {
    setting.engine = variant.engine->name;
    setting.engine_settings = peer_settings(*variant.engine, setting.precision, PeerUse::training);
  }
  return setting;
}

}  // namespace

std::vector<double> steps_ms(const Variant& variant, std::int64_t warmup) {
  std::vector<double> ms;
  for (const StepSample& step : timed(variant, warmup)) ms.push_back(step.step_ms());
  return ms;
}

Record record_of(const TrainCell& cell, const Variant& variant, std::int64_t warmup) {
  Record record{.setting = training_setting(cell, variant, warmup),
                .outcome = {.status = variant.status, .group = variant.group},
                .memory = memory_of(variant),
                .energy = Energy{.energy_status = {EnergyState::not_run}},
                .evidence = training_evidence(cell, variant)};
  if (!variant.reason.empty()) record.outcome.reason = variant.reason;
  if (timed(variant, warmup).empty() || variant.status == Status::too_slow) return record;
  const Variant* baseline = baseline_of(cell, variant, record.setting.baseline);
  const Series compared = baseline != nullptr ? series_of(cell, *baseline, warmup) : Series{};
  const SeriesContext context{compared, cell.power, cell.request.model_options.seed, 0, variant.prepare_ms};
  record_series(series_of(cell, variant, warmup), context, record);
  record.latency.made().steady.reset();  // The warm-up is as long as asked.
  set_prices(cell.request.energy, record.energy.made());
  record.rates = rates_of(record);
  if (variant.process != nullptr)
    record_peer_work(variant.process->operations(), record.evidence.flops, cell.facts, record);
  record.training = training_of(cell, variant, warmup, *record.latency);
  return record;
}

}  // namespace assay
