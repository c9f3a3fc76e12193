#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/interrupt.h"
#include "results/model_name.h"
#include "rules/rules.h"
#include "studies/bench/contenders.h"
#include "studies/bench/group_rows.h"
#include "studies/bench/record.h"
#include "studies/generation_bench/document.h"
#include "studies/generation_bench/measure_cell.h"
#include "studies/probe/run.h"

namespace assay {
namespace {

/// An option of bench that says nothing of generation.
struct Misfit {
  const char* option;
  bool (*is_given)(const BenchRequest& request);
};
constexpr Misfit misfits[] = {
    {"--seq", [](const BenchRequest& r) { return !r.seqs.empty(); }},
    {"--inputs data", [](const BenchRequest& r) { return r.inputs == InputsOf::data; }},
    {"--caches cold", [](const BenchRequest& r) { return r.caches == Caches::cold; }},
    {"--isolate", [](const BenchRequest& r) { return r.isolate == Isolate::yes; }},
    {"--processes above 1", [](const BenchRequest& r) { return r.processes > 1; }},
    {"--baseline", [](const BenchRequest& r) { return !r.against.empty(); }},
    {"--data", [](const BenchRequest& r) { return !r.data.empty(); }},
};

void check_options(const BenchRequest& request) {
  for (const Misfit& one : misfits) {
    if (one.is_given(request)) fail_user("--generate: {} has no meaning in it; drop it", one.option);
  }
  for (const Contender& contender : asked_contenders(request)) check_precision(contender, request.engine);
}

void check_generates(const Model& model) {
  if (model.config.task != Task::language_model)
    fail_user("{}: is a {}: only a language model generates", model.name, name(model.config.task));
}

struct GenerationEntry {
  Model model;
  std::vector<GenerationCell> cells;
  BenchRequest request;  ///< Whose engine has a cache for the cells.
};

GenerationEntry open_generation(const std::string& name, const GenerationBenchRequest& request,
                                const StudyCallbacks& callbacks) {
  GenerationEntry entry{open_model(name, request.bench.model_options), {}, request.bench};
  for (const std::string& note : entry.model.notes) {
    if (callbacks.say) callbacks.say(fmt::format("{}: {}", shown_model_name(name), note));
  }
  check_generates(entry.model);
  entry.cells = generation_cells(entry.model, request);
  entry.request.quality = QualityMode::none;
  entry.request.engine.cache = cache_of_all(entry.cells);
  entry.request.engine.program.logits = LogitRows::last;
  return entry;
}

std::string weights_words(const Model& model) {
  return model.random_weights() ? "random" : "sha256:" + weights_identity(model);
}

void measure_entry(const GenerationEntry& entry, const MachineFacts& facts, const StudyCallbacks& callbacks,
                   Power& power, std::vector<Record>& records) {
  Setting setting = bench_setting(entry.model, entry.request, facts);
  setting.weights = weights_words(entry.model);
  std::vector<Record> mine;
  std::int64_t number = 0;
  for (const auto& together : group_precisions(entry.model, entry.request, asked_contenders(entry.request), facts)) {
    BenchGroup group(entry.model, facts, {entry.request, callbacks, power, ++number});
    group.open(together, setting);
    std::vector<Record> measured;
    auto left = static_cast<double>(entry.cells.size());
    for (const GenerationCell& cell : entry.cells) {
      const double later_s = --left * entry.request.seconds * static_cast<double>(together.size());
      if (!is_set(callbacks.interrupted)) measure_generation(group, cell, later_s, measured);
    }
    const std::vector<Record> fresh = without_known(mine, with_baseline_samples(mine, std::move(measured)));
    mine.insert(mine.end(), fresh.begin(), fresh.end());
  }
  for (Record& record : mine) close_record(entry.request, record);
  keep_judged(callbacks, mine);
  records.insert(records.end(), mine.begin(), mine.end());
}

}  // namespace

Document generation_bench(const GenerationBenchRequest& request, const FactsSource& facts_source,
                          const StudyCallbacks& callbacks) {
  check_options(request.bench);
  std::vector<GenerationEntry> entries;
  for (const std::string& model : request.bench.models) entries.push_back(open_generation(model, request, callbacks));
  const MachineFacts facts = facts_source();
  Power power = find_power(energy_on(request.bench.engine.device, request.bench.root, request.bench.energy));
  Document document;
  document.machine = machine_json(facts);
  for (const GenerationEntry& entry : entries) {
    if (!is_set(callbacks.interrupted)) measure_entry(entry, facts, callbacks, power, document.records);
  }
  document = judged(std::move(document));
  tell_generation(document);
  return document;
}

}  // namespace assay
