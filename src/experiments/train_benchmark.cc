#include "experiments/train_benchmark.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "experiments/bench_record.h"
#include "experiments/probe.h"
#include "experiments/train_cell.h"
#include "measure/statistics.h"
#include "results/rules.h"

namespace assay {
namespace {

/// The steps behind a warm-up.
std::vector<double> timed(const std::vector<double>& all, std::int64_t warmup) {
  const auto skipped = std::min(static_cast<std::size_t>(warmup), all.size());
  return {all.begin() + static_cast<std::ptrdiff_t>(skipped), all.end()};
}

struct PhaseFields {
  std::optional<double> Record::*median;
  std::optional<double> Record::*mean;
  std::optional<double> Record::*deviation;
};

void record_phase(const std::vector<double>& samples, const PhaseFields& fields, Record& record) {
  const std::optional<Summary> summary = summarise(samples);
  if (!summary) return;
  record.*fields.median = summary->median;
  record.*fields.mean = summary->mean;
  record.*fields.deviation = summary->standard_deviation;
}

/// The latency fields of a step are those of bench: a step is what is sampled.
void record_steps(const std::vector<double>& steps, Record& record) {
  const std::optional<Summary> summary = summarise(steps);
  record.samples = static_cast<std::int64_t>(steps.size());
  record.raw_ms = steps;
  if (!summary) return;
  record.median_ms = summary->median;
  record.p10_ms = summary->p10;
  record.p90_ms = summary->p90;
  record.mean_ms = summary->mean;
  record.std_ms = summary->standard_deviation;
  if (summary->interval) {
    record.ci_low_ms = summary->interval->low;
    record.ci_high_ms = summary->interval->high;
  }
  record.repetitions = 1;
  record.stopped_by = "rounds";
  record.timed_runs = record.samples;
  double total_ms = 0;
  for (const double one : steps) total_ms += one;
  record.timed_s = total_ms * 1e-3;
}

void record_speedup(const std::vector<double>& baseline, const std::vector<double>& mine, std::uint64_t seed,
                    Record& record) {
  const std::optional<Ratio> ratio = paired_ratio(baseline, mine, seed);
  if (!ratio) return;
  record.speedup = ratio->value;
  if (ratio->interval) {
    record.speedup_low = ratio->interval->low;
    record.speedup_high = ratio->interval->high;
  }
}

/// What the plans know. A backward costs twice its forward's products: one for each factor's gradient.
void record_plans(const TrainCell& cell, const Variant& variant, Record& record) {
  ProgramOptions program;
  const double forward = model_flops(cell.model, program, cell.extent);
  record.flops = variant.options.parts == StepParts::forward ? forward : 3 * forward;
  record.peak_bytes = variant.needed_bytes;
  if (variant.trainer == nullptr || variant.trainer->step_plan() == nullptr) return;
  const Plan& plan = *variant.trainer->step_plan();
  record.arena_bytes = plan.arena_bytes();
  record.peak_bytes = variant.trainer->state().bytes() + plan.arena_bytes();
  const Ledger ledger = plan.ledger();
  record.inputs = ledger.inputs;
  record.ledger = ledger.rows;
  if (const Plan* update = variant.trainer->update_plan()) {
    for (const LedgerRow& row : update->ledger().rows) record.ledger.push_back(row);
  }
  record_peaks(cell.facts, record);
}

Record blank(const TrainCell& cell, const Variant& variant, std::int64_t warmup) {
  BenchRequest request;
  request.engine.device = cell.request.device;
  request.engine.fusion = variant.fusion;
  request.model_options = cell.request.model_options;
  Record record = blank_record(cell.model, request, cell.facts);
  record.precision = variant.options.precision.name();
  record.batch = cell.extent.batch;
  record.seq = cell.extent.seq;
  record.mode = name(variant.options.parts);
  record.recompute = name(variant.options.recompute);
  record.warmup_steps = warmup;
  record.status = variant.status;
  record.quality_status = "not asked";
  if (!variant.reason.empty()) record.reason = variant.reason;
  return record;
}

Record record_of(const TrainCell& cell, const Variant& variant, std::int64_t warmup) {
  Record record = blank(cell, variant, warmup);
  record_plans(cell, variant, record);
  const StepTimes& times = variant.times;
  if (variant.status != Status::ok && variant.status != Status::interrupted) return record;
  record.prepare_ms = times.prepare_ms;
  if (!times.step_ms.empty()) record.first_ms = times.prepare_ms + times.step_ms.front();
  record.warm_up_ms = {times.step_ms.begin(),
                       times.step_ms.begin() + std::min<std::ptrdiff_t>(warmup, std::ssize(times.step_ms))};
  record_phase(timed(times.forward_ms, warmup),
               {&Record::forward_ms, &Record::mean_forward_ms, &Record::std_forward_ms}, record);
  record_phase(timed(times.backward_ms, warmup),
               {&Record::backward_ms, &Record::mean_backward_ms, &Record::std_backward_ms}, record);
  record_phase(timed(times.optimizer_ms, warmup),
               {&Record::optimizer_ms, &Record::mean_optimizer_ms, &Record::std_optimizer_ms}, record);
  const std::vector<double> steps = timed(times.step_ms, warmup);
  record_phase(steps, {&Record::step_ms, &Record::mean_step_ms, &Record::std_step_ms}, record);
  record_steps(steps, record);
  const Variant& baseline = cell.variants.front();
  if (baseline.precision == "fp32" && baseline.status == Status::ok)
    record_speedup(timed(baseline.times.step_ms, warmup), steps, cell.request.model_options.seed, record);
  derive(record);
  return record;
}

std::string series(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += fmt::format("{}{:.0f}", text.empty() ? "" : " ", value);
  return text;
}

/// What the first steps pay for, in words with their figures.
Finding explain_warmup(const TrainCell& cell, const Variant& variant) {
  const StepTimes& times = variant.times;
  const double steady = median(times.step_ms);
  Finding finding;
  finding.rule = "warm-up";
  finding.model = cell.model.name;
  finding.batch = cell.extent.batch;
  finding.seq = cell.extent.seq;
  finding.precision = variant.options.precision.name();
  finding.text = fmt::format(
      "steps in ms: {}. Before the first, {:.0f} ms went into weights, kernel choice and the plan. The first took "
      "{:.2f}x the median and met {:.0f} page faults (first touch of gradients, moments and activations), the second "
      "{:.2f}x "
      "and {:.0f}.",
      series(times.step_ms), times.prepare_ms, times.step_ms[0] / steady, times.page_faults[0],
      times.step_ms[1] / steady, times.page_faults[1]);
  return finding;
}

void add_cell(TrainCell& cell, Document& document) {
  cell.variants = make_variants(cell);
  run_cell(cell);
  const bool study = cell.request.warmups.size() > 1;
  for (const Variant& variant : cell.variants) {
    for (const std::int64_t warmup : cell.request.warmups) document.records.push_back(record_of(cell, variant, warmup));
    if (study && variant.status == Status::ok && variant.times.step_ms.size() > 2)
      document.findings.push_back(explain_warmup(cell, variant));
  }
}

bool is_interrupted(const BenchCallbacks& callbacks) {
  return callbacks.interrupted != nullptr && *callbacks.interrupted;
}

void check(const TrainBenchmarkRequest& request) {
  for (const std::string& precision : request.precisions) find_precision(precision);
  if (request.steps < 1) fail_user("--steps {}: at least 1 is needed", request.steps);
  for (const std::int64_t warmup : request.warmups) {
    if (warmup < 0) fail_user("--warmup {}: 0 or more are needed", warmup);
  }
}

}  // namespace

const char* name(StepParts parts) {
  constexpr const char* names[] = {"forward", "forward-backward", "step"};
  return names[static_cast<std::size_t>(parts)];
}

Document train_benchmark(const TrainBenchmarkRequest& request, const FactsSource& source,
                         const BenchCallbacks& callbacks) {
  check(request);
  std::vector<Model> models;
  for (const std::string& name : request.models) models.push_back(open_model(name, request.model_options));
  for (const Model& model : models) {
    for (const std::int64_t seq : request.seqs) check_extent(model, {request.batches.front(), seq});
  }
  const MachineFacts facts = source();
  Document document;
  document.machine = machine_json(facts);
  for (const Model& model : models) {
    const std::size_t first = document.records.size();
    for (const std::int64_t batch : request.batches) {
      for (const std::int64_t seq : request.seqs) {
        if (is_interrupted(callbacks)) break;
        TrainCell cell = {model, {batch, seq}, request, facts, callbacks, {}};
        add_cell(cell, document);
      }
    }
    // Hashing reads the whole checkpoint: before the first step it would have paged it in.
    const std::string weights = model.random_weights() ? "random" : "sha256:" + weights_identity(model);
    for (std::size_t i = first; i < document.records.size(); ++i) document.records[i].weights = weights;
  }
  return document;
}

}  // namespace assay
