#include "studies/bench_record.h"

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
std::vector<double> live_bytes(const Plan& plan) {
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

void record_conditions(const Conditions& conditions, Record& record) {
  record.foreign_load = conditions.foreign_load(static_cast<int>(record.threads));
  record.stolen_share = conditions.stolen_share();
  record.frequency_before_mhz = conditions.frequency_before_mhz;
  record.frequency_after_mhz = conditions.frequency_after_mhz;
  record.temperature_before_c = conditions.temperature_before_c;
  record.temperature_after_c = conditions.temperature_after_c;
  record.page_faults = conditions.page_faults;
  record.major_page_faults = conditions.major_page_faults;
  if (const std::string words = throttle_words(conditions.throttle_reasons); !words.empty()) record.throttle = words;
}

void record_speedup(const Series& series, const SeriesContext& context, Record& record) {
  if (context.baseline.name != record.baseline) return;
  if (const auto summary = summarise(context.baseline.raw_ms)) record.baseline_median_ms = summary->median;
  const auto ratio = paired_ratio(context.baseline.raw_ms, series.raw_ms, context.request.model_options.seed);
  if (!ratio) return;
  record.speedup = ratio->value;
  if (!ratio->interval) return;
  record.speedup_low = ratio->interval->low;
  record.speedup_high = ratio->interval->high;
}

void record_outcome(const Series& series, Record& record) {
  if (!series.raw_ms.empty()) return;
  const bool slow = series.stopped_by == StoppedBy::too_slow;
  record.status = slow ? Status::too_slow : Status::interrupted;
  record.reason =
      slow ? fmt::format("the first run took {:.1f} s", *series.first_ms / 1e3) : "interrupted before it had samples";
}

}  // namespace

void record_statistics(const std::vector<double>& samples_ms, Record& record) {
  const std::optional<Summary> summary = summarise(samples_ms);
  if (!summary) return;
  record.median_ms = summary->median;
  record.p10_ms = summary->p10;
  record.p90_ms = summary->p90;
  record.p99_ms = summary->p99;
  record.mean_ms = summary->mean;
  record.std_ms = summary->standard_deviation;
  if (!summary->interval) return;
  record.ci_low_ms = summary->interval->low;
  record.ci_high_ms = summary->interval->high;
}

std::string build_words() {
  return "assay " ASSAY_VERSION ", " ASSAY_COMPILER;
}

void record_product_peak(const MatmulPeak& peak, DType accumulator, Record& record) {
  if (peak.product_gflops(accumulator) <= 0) return;
  record.peak_gflops = peak.product_gflops(accumulator);
  if (accumulator == DType::f16) {
    record.peak_kind = fmt::format("{} instruction, adding in f16", name(peak.operand));
    return;
  }
  record.matmul_peak_gflops = record.peak_gflops;
  record.peak_kind = fmt::format("best {} matmul measured here", name(peak.operand));
}

void record_peaks(const MachineFacts& facts, Record& record) {
  if (facts.bandwidth_gbs > 0) record.bandwidth_bytes_per_s = facts.bandwidth_gbs * 1e9;
  double cache = 0;
  for (const Cache& level : facts.caches) cache = std::max(cache, static_cast<double>(level.bytes) * level.instances);
  if (cache > 0) record.cache_bytes = cache;
  if (!facts.peaks.empty()) record.peaks_measured_share = facts.measured_share;
  if (const MatmulPeak* peak = facts.peak(DType::f32); peak != nullptr && peak->matmul_gflops > 0) {
    record.baseline_matmul_peak_gflops = peak->matmul_gflops;
  }
  const LedgerRow* dominant = dominant_row(record);
  const MatmulPeak* peak = dominant != nullptr ? facts.peak(dominant->operand) : nullptr;
  if (peak == nullptr) return;
  if (peak->instruction_gflops > 0) record.instruction_peak_gflops = peak->instruction_gflops;
  record_product_peak(*peak, dominant->accumulator, record);
}

LeastTimes least_times(const Plan& plan, const MachineFacts& facts, std::optional<Phase> phase) {
  return {least_ms(plan, facts, phase, Bound::instruction), least_ms(plan, facts, phase, Bound::product)};
}

Record blank_record(const Model& model, const BenchRequest& request, const MachineFacts& facts) {
  Record record;
  record.model = model.name;
  record.parameters = model.weights.parameters();
  record.stored_dtype = model.weights.stored_dtypes();
  record.baseline = "fp32";
  record.device = request.engine.device;
  record.threads = facts.threads;
  record.logits = request.engine.program.logits == LogitRows::last ? "last" : "all";
  record.fusion = request.engine.fusion == Fusion::on ? "on" : "off";
  record.casts = request.engine.casts == Casts::once ? "once" : "every-call";
  record.seed = static_cast<std::int64_t>(request.model_options.seed);
  record.machine =
      fmt::format("{}, {} cores{}", facts.processor, facts.cores, facts.cap.empty() ? "" : ", capped at " + facts.cap);
  record.caches = request.caches == Caches::cold ? "cold" : "warm";
  if (record.device == "cuda") record.graphs = request.engine.graphs == Graphs::on ? "on" : "off";
  if (facts.gpu) record.machine += ", " + facts.gpu->name;
  record.build = build_words();
  return record;
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

void describe_plan(const Plan& plan, const Instance& instance, const MachineFacts& facts, Record& record) {
  record.moved_bytes = plan.bytes();
  record.weight_bytes_read = weight_bytes(plan, instance.program());
  record.model_bytes = instance.model_bytes();
  record.packed_bytes = instance.resident_bytes();
  record.arena_bytes = plan.arena_bytes();
  record.peak_bytes = plan.peak_bytes();
  record.live_bytes = live_bytes(plan);
  const Ledger ledger = plan.ledger();
  record.inputs = ledger.inputs;
  record.ledger = ledger.rows;
  record.operation_bytes = operation_bytes(plan);
  record_peaks(facts, record);
  const LeastTimes least = least_times(plan, facts);
  record.instruction_ms = least.instruction_ms;
  record.matmul_ms = least.matmul_ms;
}

void record_series(const Series& series, const SeriesContext& context, Record& record) {
  record.samples = static_cast<std::int64_t>(series.raw_ms.size());
  record.raw_ms = series.raw_ms;
  record.repetitions = series.repetitions;
  if (series.first_ms) record.first_ms = *series.first_ms + record.prepare_ms.value_or(0);
  record.warm_up_ms = series.warm_up_ms;
  record.steady = series.steady;
  if (context.request.width > 0) record.asked_width = context.request.width;
  record.stopped_by = name(series.stopped_by);
  record.window_power_w = series.window_power_w;
  if (series.timed_runs > 0) {
    record.timed_runs = series.timed_runs;
    record.timed_s = series.timed_s;
  }
  if (!series.device_ms.empty()) record.device_ms = median(series.device_ms);
  if (!series.enqueue_ms.empty()) record.enqueue_ms = median(series.enqueue_ms);
  if (record.device == "cuda") record.throttled_rounds = series.throttled_rounds;
  record_statistics(series.raw_ms, record);
  record_conditions(series.conditions, record);
  record_speedup(series, context, record);
  record_energy(series, context.power, record);
  record_outcome(series, record);
  derive(record);
}

void close_record(const BenchRequest& request, Record& record) {
  record_prices(request.energy, record);
  derive(record);
  if (record.samples == 0) record.energy_status = "not run";
  if (request.quality == QualityMode::none || record.quality_status != Record{}.quality_status) return;
  record.quality_status = record.status == Status::ok ? "interrupted before anything was scored"
                                                      : fmt::format("not run: {}", name(record.status));
}

void keep_judged(const BenchCallbacks& callbacks, std::vector<Record> records) {
  if (!callbacks.keep || records.empty()) return;
  judge(records);
  callbacks.keep(records);
}

}  // namespace assay
