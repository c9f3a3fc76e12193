#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "hardware/facts.h"
#include "model/architecture.h"
#include "model/model.h"
#include "results/document.h"
#include "results/model_name.h"
#include "results/parts.h"
#include "results/record.h"
#include "rules/rules.h"
#include "studies/bench/calibrated.h"
#include "studies/bench/contenders.h"
#include "studies/bench/engines.h"
#include "studies/bench/group.h"
#include "studies/bench/group_rows.h"
#include "studies/bench/record.h"
#include "studies/bench/request.h"
#include "studies/bench/shard.h"
#include "studies/generation_bench/cell.h"
#include "studies/generation_bench/decoded.h"
#include "studies/generation_bench/document.h"
#include "studies/generation_bench/measure_cell.h"
#include "studies/generation_bench/request.h"
#include "studies/probe/run.h"
#include "studies/shared/cached.h"
#include "studies/shared/energy_record.h"
#include "studies/shared/surroundings.h"

namespace assay {
namespace {

void check_precisions(const BenchRequest& request) {
  for (const Contender& contender : asked_contenders(request)) check_precision(contender, request.engine);
}

struct GenerationEntry {
  Model model;
  std::vector<GenerationCell> cells;
  BenchRequest request;  ///< Whose engine has a cache for the cells, and for what is scored.
  DecodedData decoded;
};

GenerationEntry open_generation(const std::string& name, const GenerationBenchRequest& request,
                                const StudyCallbacks& callbacks) {
  GenerationEntry entry{open_model(name, request.bench.model_options), {}, request.bench, {}};
  const auto say = [&](const std::string& note) {
    if (callbacks.say && !note.empty()) callbacks.say(fmt::format("{}: {}", shown_model_name(name), note));
  };
  for (const std::string& note : entry.model.notes) say(note);
  check_generates(entry.model);
  entry.cells = generation_cells(entry.model, request);
  if (request.bench.quality == QualityMode::automatic) entry.decoded = decoded_data(entry.model, request);
  say(entry.decoded.quality.note);
  entry.request.engine.cache = with_room_for(entry.decoded, cache_of_all(entry.cells));
  entry.request.engine.program.logits = LogitRows::last;
  return entry;
}

std::string weights_words(const Model& model) {
  return model.random_weights() ? "random" : "sha256:" + weights_identity(model);
}

void measure_entry(const GenerationEntry& entry, const MachineFacts& facts, const StudyCallbacks& callbacks,
                   Power& power, std::vector<Record>& records) {
  std::unique_ptr<PeerHost> peers;
  if (!entry.request.peers.empty())
    peers = std::make_unique<PeerHost>(entry.model, PeerHost::Surroundings{facts, callbacks, entry.request.peers_root});
  Setting setting = bench_setting(entry.model, entry.request, facts);
  setting.weights = weights_words(entry.model);
  std::vector<Record> mine;
  std::int64_t number = 0;
  for (const auto& together : group_precisions(entry.model, entry.request, asked_contenders(entry.request), facts)) {
    BenchGroup group(entry.model, facts, {entry.request, callbacks, power, ++number, peers.get()});
    group.open(together, setting);
    std::vector<Record> measured;
    auto left = static_cast<double>(entry.cells.size());
    for (const GenerationCell& cell : entry.cells) {
      const double later_s = --left * entry.request.seconds * static_cast<double>(together.size());
      if (!is_set(callbacks.interrupted)) measure_generation(group, cell, later_s, measured);
    }
    if (entry.decoded.quality.set && !is_set(callbacks.interrupted)) score_decoding(group, entry.decoded, measured);
    const std::vector<Record> fresh = without_known(mine, with_baseline_samples(mine, std::move(measured)));
    mine.insert(mine.end(), fresh.begin(), fresh.end());
  }
  for (Record& record : mine) close_record(entry.request, record);
  keep_judged(callbacks, mine);
  records.insert(records.end(), mine.begin(), mine.end());
}

/// Leaves of the grid the part that is measured here; each entry's request knows it, too.
ShardPart keep_generation_part(BenchRequest& request, std::vector<GenerationEntry>& entries) {
  std::int64_t cells = 0;
  for (const GenerationEntry& entry : entries) cells += static_cast<std::int64_t>(entry.cells.size());
  const ShardPart part = keep_part(request, cells);
  keep_cells(part.cells, entries);
  for (GenerationEntry& entry : entries) {
    entry.request.precisions = request.precisions;
    entry.request.baseline_rows = request.baseline_rows;
    entry.request.division = request.division;
  }
  return part;
}

}  // namespace

Document generation_document(Document records) {
  Document document = judged(std::move(records));
  tell_generation(document);
  tell_decoded(document);
  return document;
}

Document generation_bench(const GenerationBenchRequest& asked, const FactsSource& facts_source,
                          const StudyCallbacks& callbacks) {
  GenerationBenchRequest request = asked;
  check_engines(request.bench);
  check_precisions(request.bench);
  std::vector<GenerationEntry> entries;
  for (const std::string& model : request.bench.models) entries.push_back(open_generation(model, request, callbacks));
  if (keep_generation_part(request.bench, entries).is_empty()) return document_without_part(request.bench.division);
  install_peers(request.bench, callbacks);
  const MachineFacts facts = facts_source();
  for (GenerationEntry& entry : entries) calibrate_for(request.bench, entry.model, facts, callbacks);
  Power power = find_power(energy_on(request.bench.engine.device, request.bench.root, request.bench.energy));
  Document document;
  document.machine = machine_json(facts);
  for (const GenerationEntry& entry : entries) {
    if (!is_set(callbacks.interrupted)) measure_entry(entry, facts, callbacks, power, document.records);
  }
  return generation_document(std::move(document));
}

}  // namespace assay
