#include "studies/train_benchmark/request.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "kernels/gpu_bus_id.h"
#include "rules/rules.h"
#include "statistics/statistics.h"
#include "studies/peers/environment.h"
#include "studies/probe/run.h"
#include "studies/train_benchmark/cell.h"
#include "studies/train_benchmark/record.h"
#include "studies/train_benchmark/warm_up.h"
#include "training/recomputation.h"

namespace assay {
namespace {

std::string series(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += fmt::format("{}{:.0f}", text.empty() ? "" : " ", value);
  return text;
}

Finding about(const TrainCell& cell, const char* rule, const std::string& precision, std::string text) {
  Finding finding;
  finding.rule = rule;
  finding.model = cell.model.name;
  finding.batch = cell.extent.batch;
  finding.seq = cell.extent.seq;
  finding.precision = precision;
  finding.text = std::move(text);
  return finding;
}

std::string name_of(const Variant& variant) {
  const std::string step = words(variant.step);
  return variant.options.precision.name() + (variant.fusion == Fusion::off ? " unfused" : "") +
         (step.empty() ? "" : fmt::format(" ({})", step));
}

/// What the first steps pay for, in words with their figures.
std::string warmup_words(const Variant& variant) {
  const std::vector<StepSample>& steps = variant.steps;
  std::vector<double> ms;
  ms.reserve(steps.size());
  for (const StepSample& step : steps) ms.push_back(step.step_ms());
  const double usual_ms = median(ms);
  const auto faults = [&](std::size_t i) { return steps[i].after.page_faults - steps[i].before.page_faults; };
  return fmt::format(
      "{}: steps in ms: {}. Before the first, {:.0f} ms went into weights, kernel choice and the plan. The first took "
      "{:.2f}x the median and met {} page faults (first touch of gradients, moments and activations), the second "
      "{:.2f}x and {}.",
      name_of(variant), series(ms), variant.prepare_ms, ms[0] / usual_ms, faults(0), ms[1] / usual_ms, faults(1));
}

/// Times of a training that diverged are times, and no training that anybody wants.
std::string divergence_words(const Variant& variant) {
  return fmt::format("{}: the loss of {} of its steps was not finite: these are the times of a training that diverged.",
                     name_of(variant), variant.nonfinite_losses);
}

/// What fusion changes, step by step: the same precision's variant without it over the one with it.
std::string fusion_words(const TrainCell& cell, const Variant& fused, std::int64_t warmup) {
  const auto other = std::find_if(cell.variants.begin(), cell.variants.end(), [&](const Variant& variant) {
    return variant.precision == fused.precision && variant.fusion == Fusion::off && variant.group == fused.group &&
           variant.step == fused.step;
  });
  if (fused.fusion == Fusion::off || other == cell.variants.end()) return "";
  const auto ratio = paired_ratio(steps_ms(*other, warmup), steps_ms(fused, warmup), cell.request.model_options.seed);
  if (!ratio) return "";
  std::string text =
      fmt::format("Fusion makes a step in {} {:.2f}x as fast", fused.options.precision.name(), ratio->value);
  if (ratio->interval) text += fmt::format(", 95 % [{:.2f}x, {:.2f}x]", ratio->interval->low, ratio->interval->high);
  return text + ".";
}

/// Where computing again is asked for and there is nothing to.
std::string recomputation_words(const TrainCell& cell, const Variant& variant) {
  const std::string in_vain = recomputation_in_vain(cell.model.config, variant.options);
  if (in_vain.empty()) return "";
  return fmt::format("{}; {} are needed with it and without.", in_vain,
                     format_bytes(static_cast<double>(variant.needed_bytes)));
}

void add_findings(const TrainCell& cell, std::vector<Finding>& findings) {
  const bool study = cell.request.warmups.size() > 1;
  for (const Variant& variant : cell.variants) {
    if (variant.status != Status::ok || variant.engine != nullptr) continue;
    const std::string precision = variant.options.precision.name();
    if (variant.nonfinite_losses > 0)
      findings.push_back(about(cell, "not finite", precision, divergence_words(variant)));
    if (study && variant.steps.size() > 2) findings.push_back(about(cell, "warm-up", precision, warmup_words(variant)));
    const std::string in_vain = recomputation_words(cell, variant);
    if (!in_vain.empty()) findings.push_back(about(cell, "recompute", precision, in_vain));
    const std::string fusion = fusion_words(cell, variant, most_warmup(cell.request));
    if (!fusion.empty()) findings.push_back(about(cell, "fusion", precision, fusion));
  }
}

void add_cell(TrainCell& cell, Document& document) {
  cell.variants = make_variants(cell);
  run_cell(cell);
  read_idle_again(cell.power, cell.callbacks.interrupted);
  for (const Variant& variant : cell.variants) {
    for (const std::int64_t warmup : cell.request.warmups) document.records.push_back(record_of(cell, variant, warmup));
  }
  add_findings(cell, document.findings);
}

void check_benchmark(const TrainBenchmarkRequest& request) {
  for (const std::string& precision : request.precisions) find_precision(precision);
  for (const std::string& name : request.peers) find_peer(name, PeerUse::training);
  if (request.steps < 1) fail_user("--steps {}: at least 1 is needed", request.steps);
  for (const std::int64_t warmup : request.warmups) {
    if (warmup < 0) fail_user("--warmup {}: 0 or more are needed", warmup);
  }
}

}  // namespace

std::int64_t most_warmup(const TrainBenchmarkRequest& request) {
  return *std::max_element(request.warmups.begin(), request.warmups.end());
}

Document steps_document(Document records) {
  records.figures = warm_up_figures(records.records);
  return judged(std::move(records));
}

Document train_benchmark(const TrainBenchmarkRequest& request, const FactsSource& source,
                         const StudyCallbacks& callbacks) {
  check_benchmark(request);
  std::vector<Model> models;
  for (const std::string& name : request.models) models.push_back(open_model(name, request.model_options));
  for (const Model& model : models) {
    for (const std::int64_t seq : request.seqs) check_extent(model, {request.batches.front(), seq});
  }
  GridDivision division = request.division;
  const std::size_t cells = models.size() * request.batches.size() * request.seqs.size();
  const ShardPart part = take_part(division, {.cells = static_cast<std::int64_t>(cells)});
  if (part.is_empty()) return document_without_part(division);
  for (const std::string& name : request.peers)
    install_environment(environment_of(find_peer(name)), request.peers_root, callbacks);
  const MachineFacts facts = source();
  Power power = find_power(energy_on(request.device, request.root, request.energy));
  Document document;
  document.machine = machine_json(facts);
  std::vector<ReachedStep> reached;
  std::int64_t number = 0;
  for (const Model& model : models) {
    std::string weights;
    std::optional<PeerHost> peers;
    if (!request.peers.empty()) peers.emplace(model, PeerHost::Surroundings{facts, callbacks, request.peers_root});
    for (const std::int64_t batch : request.batches) {
      for (const std::int64_t seq : request.seqs) {
        if (!part.cells.holds(number++) || is_set(callbacks.interrupted)) continue;
        const std::size_t first = document.records.size();
        TrainCell cell = {model, {batch, seq}, request, facts, callbacks, power, {}, {}};
        cell.reached = std::move(reached);
        if (peers) cell.peers = &*peers;
        if (facts.gpu) cell.gpu = gpu_conditions_reader(gpu_bus_id());
        add_cell(cell, document);
        reached = std::move(cell.reached);
        // Hashing reads the whole checkpoint: before the first step it would have paged it in.
        if (weights.empty()) weights = model.random_weights() ? "random" : "sha256:" + weights_identity(model);
        const auto fresh = std::span(document.records).subspan(first);
        for (Record& record : fresh) {
          record.setting.weights = weights;
          mark_share(division, record);
        }
        keep_judged(callbacks, {fresh.begin(), fresh.end()});
      }
    }
  }
  return steps_document(std::move(document));
}

}  // namespace assay
