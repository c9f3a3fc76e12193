#include "experiments/bench_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "measure/statistics.h"

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

void record_peaks(const MachineFacts& facts, Record& record) {
  const LedgerRow* dominant = dominant_row(record);
  if (dominant == nullptr) return;
  if (const MatmulPeak* peak = facts.peak(dominant->operand)) {
    if (peak->instruction_gflops > 0) record.instruction_peak_gflops = peak->instruction_gflops;
    if (peak->matmul_gflops > 0) {
      record.matmul_peak_gflops = record.peak_gflops = peak->matmul_gflops;
      record.peak_kind = fmt::format("best {} matmul measured here", name(dominant->operand));
    }
  }
  if (const MatmulPeak* peak = facts.peak(DType::f32); peak != nullptr && peak->matmul_gflops > 0) {
    record.baseline_matmul_peak_gflops = peak->matmul_gflops;
  }
  if (facts.bandwidth_gbs > 0) record.bandwidth_bytes_per_s = facts.bandwidth_gbs * 1e9;
  double cache = 0;
  for (const Cache& level : facts.caches) cache = std::max(cache, static_cast<double>(level.bytes));
  if (cache > 0) record.cache_bytes = cache;
}

void record_statistics(const Series& series, Record& record) {
  const std::optional<Summary> summary = summarise(series.raw_ms);
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

void record_conditions(const Conditions& conditions, Record& record) {
  record.foreign_load = conditions.foreign_load();
  record.stolen_share = conditions.stolen_share();
  record.frequency_before_mhz = conditions.frequency_before_mhz;
  record.frequency_after_mhz = conditions.frequency_after_mhz;
  record.temperature_before_c = conditions.temperature_before_c;
  record.temperature_after_c = conditions.temperature_after_c;
  record.page_faults = conditions.page_faults;
  record.major_page_faults = conditions.major_page_faults;
}

void record_figures(const Model& model, const Quality& mine, Record& record) {
  if (mine.nll.empty()) return;
  const QualityFigures f = figures(mine);
  record.scored = f.scored;
  record.log_perplexity = f.mean_nll;
  if (model.config.task == Task::language_model) {
    record.perplexity = f.perplexity;
  } else {
    record.correct = f.correct;
    record.accuracy = f.accuracy;
  }
}

void record_change(const Model& model, const QualityChange& change, Record& record) {
  record.kl_mean = change.kl_mean;
  record.kl_p999 = change.kl_p999;
  record.top1_agreement = change.top1_agreement;
  record.max_logit_difference = change.largest_difference;
  if (!record.scored) return;
  if (model.config.task == Task::language_model) {
    record.delta_log_perplexity = change.delta_nll;
    record.delta_log_perplexity_se = change.delta_nll_se;
  } else {
    record.accuracy_change = change.accuracy_change;
    record.mcnemar_p = change.mcnemar_p;
  }
}

}  // namespace

Record blank_record(const Model& model, const BenchRequest& request, const MachineFacts& facts) {
  Record record;
  record.model = model.name;
  record.weights = model.random_weights() ? "random" : "sha256:" + weights_identity(model);
  record.parameters = model.weights.parameters();
  record.stored_dtype = model.weights.stored_dtypes();
  record.baseline = "fp32";
  record.device = request.engine.device;
  record.threads = facts.threads;
  record.logits = request.engine.program.logits == LogitRows::last ? "last" : "all";
  record.fusion = request.engine.fusion == Fusion::on ? "on" : "off";
  record.casts = request.engine.casts == Casts::once ? "once" : "every-call";
  record.seed = static_cast<std::int64_t>(request.seed);
  record.machine =
      fmt::format("{}, {} cores{}", facts.processor, facts.cores, facts.cap.empty() ? "" : ", capped at " + facts.cap);
  record.build = "assay " ASSAY_VERSION ", " ASSAY_COMPILER;
  return record;
}

void describe_plan(const Plan& plan, const Instance& instance, const MachineFacts& facts, Record& record) {
  record.flops = plan.flops();
  record.moved_bytes = plan.bytes();
  record.weight_bytes_read = weight_bytes(plan, instance.program());
  record.model_bytes = instance.model_bytes();
  record.packed_bytes = instance.resident_bytes();
  record.arena_bytes = plan.arena_bytes();
  record.peak_bytes = plan.peak_bytes();
  const Ledger ledger = plan.ledger();
  record.inputs = ledger.inputs;
  record.ledger = ledger.rows;
  record_peaks(facts, record);
}

void record_series(const Series& series, const Series& baseline, const std::string& energy_status,
                   const BenchRequest& request, Record& record) {
  record.samples = static_cast<std::int64_t>(series.raw_ms.size());
  record.raw_ms = series.raw_ms;
  record.repetitions = series.repetitions;
  if (series.first_ms) record.first_ms = *series.first_ms + record.prepare_ms.value_or(0);
  record.warm_up_ms = series.warm_up_ms;
  record.steady = series.steady;
  record.asked_width = request.width;
  record.stopped_by = name(series.stopped_by);
  record_statistics(series, record);
  record_conditions(series.conditions, record);
  if (const auto ratio = paired_ratio(baseline.raw_ms, series.raw_ms, request.seed); ratio && baseline.name == "fp32") {
    record.speedup = ratio->value;
    if (ratio->interval) {
      record.speedup_low = ratio->interval->low;
      record.speedup_high = ratio->interval->high;
    }
  }
  record.energy_status = energy_status;
  if (const auto joules = series.energy_j()) record.energy_j = *joules / static_cast<double>(record.batch);
  if (series.raw_ms.empty()) {
    record.status = series.stopped_by == StoppedBy::too_slow ? Status::too_slow : Status::interrupted;
    record.reason = series.stopped_by == StoppedBy::too_slow
                        ? fmt::format("the first run took {:.1f} s", *series.first_ms / 1e3)
                        : "interrupted before it had samples";
  }
  derive(record);
}

void record_quality(const Model& model, const QualityData& data, const Quality* baseline, const Quality& mine,
                    Record& record) {
  record.quality_status = data.status;
  record.quality_data = data.set->data;
  record.protocol = data.set->protocol;
  record.logits_hash = fmt::format("{:016x}", mine.logits_hash);
  record_figures(model, mine, record);
  if (baseline != nullptr) record_change(model, compare(*baseline, mine), record);
}

}  // namespace assay
