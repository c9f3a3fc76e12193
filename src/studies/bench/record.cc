#include "studies/bench/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/units.h"
#include "model/architecture.h"
#include "program/operation.h"
#include "rules/rules.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

/// Distinct weight bytes that one run reads.
double weight_bytes(const Plan& plan, const Program& program) {
  std::set<ValueId> seen;
  double total = 0;
  for (const Step& step : plan.steps()) {
    const Node& node = program.nodes[step.node];
    if (node.operation == &op::embedding || node.operation == &op::add_rows) continue;
    for (const ValueId id : node.inputs) {
      if (id == no_value || !program.value(id).constant || !seen.insert(id).second) continue;
      total += static_cast<double>(storage_bytes(program, id, plan.options().extent));
    }
  }
  return total;
}

/// Values of the arena that live during each step.
std::vector<double> live_bytes_by_step(const Plan& plan) {
  const std::size_t steps = plan.steps().size();
  std::vector<double> change(steps + 2, 0);
  for (std::size_t id = 0; id < plan.program().values.size(); ++id) {
    const Placement& value = plan.placement(static_cast<ValueId>(id));
    if (value.bytes <= 0) continue;
    const auto first = std::min(static_cast<std::size_t>(std::max(value.first_step, 1)), steps + 1);
    const auto last = std::min(static_cast<std::size_t>(std::max(value.last_step, 1)), steps);
    change[first] += static_cast<double>(value.bytes);
    change[last + 1] -= static_cast<double>(value.bytes);
  }
  std::vector<double> live(steps);
  std::partial_sum(change.begin() + 1, change.end() - 1, live.begin());
  return live;
}

/// Multiplications and additions of a step's matrix products; none for other operations.
double product_flops(const Step& step, const Program& program, Extent extent) {
  if (!multiplies(step.ledger)) return 0;
  // Fused attention counts its softmax too: of its products there are two, of its gradient's five.
  const Node& node = program.nodes[step.node];
  if (node.operation == &op::attention) return 2 * op::attention_scores.flops(program, node, extent);
  if (node.operation == &op::attention_gradient) return 5 * op::attention_scores.flops(program, node, extent);
  return step.flops;
}

enum class Bound : std::uint8_t { instruction, product };

std::optional<double> least_ms(const Plan& plan, const MachineFacts& facts, std::optional<Phase> phase, Bound bound) {
  const Program& program = plan.program();
  double total_ms = 0;
  for (const Step& step : plan.steps()) {
    const MatmulPeak* peak = facts.peak(step.ledger.operand);
    if (peak == nullptr || (phase && program.nodes[step.node].phase != *phase)) continue;
    const double gflops =
        bound == Bound::instruction ? peak->instruction_gflops : peak->product_gflops(step.ledger.accumulator);
    if (gflops > 0) total_ms += product_flops(step, program, plan.options().extent) / gflops * 1e-6;
  }
  if (total_ms == 0) return std::nullopt;
  return total_ms;
}

Circumstances circumstances_of(const Conditions& conditions, std::int64_t threads) {
  Circumstances found{.foreign_load = conditions.foreign_load(static_cast<int>(threads)),
                      .stolen_share = conditions.stolen_share(),
                      .frequency_before_mhz = conditions.frequency_before_mhz,
                      .frequency_after_mhz = conditions.frequency_after_mhz,
                      .temperature_before_c = conditions.temperature_before_c,
                      .temperature_after_c = conditions.temperature_after_c,
                      .page_faults = conditions.page_faults,
                      .major_page_faults = conditions.major_page_faults};
  if (const std::string words = throttle_words(conditions.throttle_reasons); !words.empty()) found.throttle = words;
  return found;
}

/// Absent where there is nothing to compare with.
std::optional<Speedup> speedup_of(const Series& series, const SeriesContext& context, const std::string& baseline) {
  const auto summary = summarise(context.baseline.raw_ms);
  if (context.baseline.name != baseline || !summary) return std::nullopt;
  Speedup speedup{.baseline_median_ms = summary->median};
  const auto ratio = paired_ratio(context.baseline.raw_ms, series.raw_ms, context.seed);
  if (!ratio) return speedup;
  speedup.speedup = ratio->value;
  if (!ratio->interval) return speedup;
  speedup.speedup_low = ratio->interval->low;
  speedup.speedup_high = ratio->interval->high;
  return speedup;
}

Latency series_latency(const Series& series, const SeriesContext& context, const std::string& device) {
  Latency latency = latency_of(series.raw_ms);
  latency.prepare_ms = context.prepare_ms;
  if (series.first_ms) latency.first_ms = *series.first_ms + context.prepare_ms.value_or(0);
  latency.repetitions = series.repetitions;
  latency.warm_up_ms = series.warm_up_ms;
  latency.steady = series.steady;
  if (context.asked_width > 0) latency.asked_width = context.asked_width;
  latency.stopped_by = series.stopped_by;
  if (series.timed_runs > 0) {
    latency.timed_runs = series.timed_runs;
    latency.timed_s = series.timed_s;
  }
  if (!series.device_ms.empty()) latency.device_ms = median(series.device_ms);
  if (!series.enqueue_ms.empty()) latency.enqueue_ms = median(series.enqueue_ms);
  if (device == "cuda") latency.throttled_rounds = series.throttled_rounds;
  return latency;
}

void set_outcome_without_samples(const Series& series, CellOutcome& outcome) {
  const bool slow = series.stopped_by == StoppedBy::too_slow;
  outcome.status = slow ? Status::too_slow : Status::interrupted;
  outcome.reason =
      slow ? fmt::format("the first run took {:.1f} s", *series.first_ms / 1e3) : "interrupted before it had samples";
}

}  // namespace

Latency latency_of(const std::vector<double>& samples_ms) {
  Latency latency{.samples = static_cast<std::int64_t>(samples_ms.size()), .raw_ms = samples_ms};
  const std::optional<Summary> summary = summarise(samples_ms);
  if (!summary) return latency;
  latency.median_ms = summary->median;
  latency.p10_ms = summary->p10;
  latency.p90_ms = summary->p90;
  latency.p99_ms = summary->p99;
  latency.mean_ms = summary->mean;
  latency.std_ms = summary->standard_deviation;
  if (!summary->interval) return latency;
  latency.ci_low_ms = summary->interval->low;
  latency.ci_high_ms = summary->interval->high;
  return latency;
}

std::string build_words() {
  return "assay " ASSAY_VERSION ", " ASSAY_COMPILER;
}

void set_product_peak(const MatmulPeak& peak, DType accumulator, Evidence& evidence) {
  if (peak.product_gflops(accumulator) <= 0) return;
  evidence.peak_gflops = peak.product_gflops(accumulator);
  if (accumulator == DType::f16) {
    evidence.peak_kind = fmt::format("{} instruction, adding in f16", name(peak.operand));
    return;
  }
  evidence.matmul_peak_gflops = evidence.peak_gflops;
  evidence.peak_kind = fmt::format("best {} matmul measured here", name(peak.operand));
}

void set_peaks(const MachineFacts& facts, Evidence& evidence) {
  if (facts.bandwidth_gbs > 0) evidence.bandwidth_bytes_per_s = facts.bandwidth_gbs * 1e9;
  double cache = 0;
  for (const Cache& level : facts.caches) cache = std::max(cache, static_cast<double>(level.bytes) * level.instances);
  if (cache > 0) evidence.cache_bytes = cache;
  if (!facts.peaks.empty()) evidence.peaks_measured_share = facts.measured_share;
  if (const MatmulPeak* peak = facts.peak(DType::f32); peak != nullptr && peak->matmul_gflops > 0) {
    evidence.baseline_matmul_peak_gflops = peak->matmul_gflops;
  }
  const LedgerRow* dominant = dominant_row(evidence.ledger);
  const MatmulPeak* peak = dominant != nullptr ? facts.peak(dominant->operand) : nullptr;
  if (peak == nullptr) return;
  if (peak->instruction_gflops > 0) evidence.instruction_peak_gflops = peak->instruction_gflops;
  set_product_peak(*peak, dominant->accumulator, evidence);
}

LeastTimes least_times(const Plan& plan, const MachineFacts& facts, std::optional<Phase> phase) {
  return {least_ms(plan, facts, phase, Bound::instruction), least_ms(plan, facts, phase, Bound::product)};
}

Setting setting_on(const std::string& device, std::uint64_t seed, const MachineFacts& facts) {
  Setting setting;
  setting.baseline = "fp32";
  setting.device = device;
  setting.threads = facts.threads;
  setting.seed = static_cast<std::int64_t>(seed);
  setting.machine =
      fmt::format("{}, {} cores{}", facts.processor, facts.cores, facts.cap.empty() ? "" : ", capped at " + facts.cap);
  if (facts.gpu) setting.machine += ", " + facts.gpu->name;
  if (device == "cuda") setting.graphs = "on";
  setting.build = build_words();
  return setting;
}

void set_model(const Model& model, Setting& setting) {
  setting.model = model.name;
  setting.parameters = model.weights.parameters();
  setting.stored_dtype = model.weights.stored_dtypes();
}

Setting setting_of(const Model& model, const BenchRequest& request, const MachineFacts& facts) {
  const EngineOptions& engine = request.engine;
  Setting setting = setting_on(engine.device, request.model_options.seed, facts);
  set_model(model, setting);
  setting.logits = engine.program.logits == LogitRows::last ? "last" : "all";
  setting.fusion = engine.fusion == Fusion::on ? "on" : "off";
  setting.casts = engine.casts == Casts::once ? "once" : "every-call";
  setting.caches = request.caches == Caches::cold ? "cold" : "warm";
  if (setting.graphs && engine.graphs == Graphs::off) setting.graphs = "off";
  return setting;
}

double model_flops(const Model& model, const ProgramOptions& options, Extent extent) {
  const Program program = build_program(model.config, options);
  double total = 0;
  for (const Node& node : program.nodes) {
    const bool multiplies = node.operation == &op::linear || node.operation == &op::attention_scores ||
                            node.operation == &op::attention_context;
    if (multiplies) total += flops(program, node, extent);
  }
  return total;
}

std::vector<double> operation_bytes(const Plan& plan) {
  std::vector<double> bytes;
  bytes.reserve(plan.steps().size());
  for (const Step& step : plan.steps()) bytes.push_back(step.bytes);
  return bytes;
}

Evidence evidence_of(const Plan& plan, const Instance& instance, const MachineFacts& facts) {
  Ledger ledger = plan.ledger();
  const LeastTimes least = least_times(plan, facts);
  Evidence evidence{.inputs = std::move(ledger.inputs),
                    .ledger = std::move(ledger.rows),
                    .operation_bytes = operation_bytes(plan),
                    .moved_bytes = plan.bytes(),
                    .weight_bytes_read = weight_bytes(plan, instance.program()),
                    .instruction_ms = least.instruction_ms,
                    .matmul_ms = least.matmul_ms};
  set_peaks(facts, evidence);
  return evidence;
}

MemoryUse memory_of(const Plan& plan, const Instance& instance, std::optional<std::int64_t> resident_bytes) {
  return {.model_bytes = instance.model_bytes(),
          .packed_bytes = instance.resident_bytes(),
          .arena_bytes = plan.arena_bytes(),
          .peak_bytes = plan.peak_bytes(),
          .resident_bytes = resident_bytes,
          .live_bytes = live_bytes_by_step(plan)};
}

void record_series(const Series& series, const SeriesContext& context, Record& record) {
  const Setting& setting = record.setting;
  record.latency = series_latency(series, context, setting.device);
  record.circumstances = circumstances_of(series.conditions, setting.threads);
  record.speedup = speedup_of(series, context, setting.baseline);
  record.energy = energy_of(series, context.power, setting.batch);
  if (series.raw_ms.empty()) set_outcome_without_samples(series, record.outcome);
  record.rates = rates_of(record);
}

void close_record(const BenchRequest& request, Record& record) {
  Energy& energy = record.energy.made();
  set_prices(request.energy, energy);
  if (record.latency->samples == 0) energy.energy_status = {EnergyState::not_run};
  record.rates = rates_of(record);
  if (request.quality == QualityMode::none || record.quality) return;
  const QualityStatus unscored = record.outcome.status == Status::ok
                                     ? QualityStatus{QualityState::interrupted, " before anything was scored"}
                                     : QualityStatus{QualityState::not_run, name(record.outcome.status)};
  record.quality = Quality{.quality_status = unscored};
}

void keep_judged(const StudyCallbacks& callbacks, std::vector<Record> records) {
  if (!callbacks.keep || records.empty()) return;
  const Rulings rulings = judge(records);
  callbacks.keep(with_rulings(std::move(records), rulings.rows));
}

}  // namespace assay
