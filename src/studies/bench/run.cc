#include "studies/bench/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>

#include "base/error.h"
#include "base/interrupt.h"
#include "results/identity.h"
#include "results/model_name.h"
#include "rules/rules.h"
#include "studies/bench/calibrated.h"
#include "studies/bench/compared_models.h"
#include "studies/bench/engines.h"
#include "studies/bench/group_rows.h"
#include "studies/bench/measure_cell.h"
#include "studies/bench/record.h"
#include "studies/bench/resume.h"
#include "studies/bench/score.h"
#include "studies/bench/shard.h"
#include "studies/bench/timed_rows.h"
#include "studies/probe/run.h"

namespace assay {
namespace {

bool stopped(const StudyCallbacks& callbacks) {
  return is_set(callbacks.interrupted);
}

/// A model that was asked for, and what it is scored on.
struct Entry {
  Model model;
  QualityData data;
  std::vector<CellInputs> cells = {};  ///< What is timed of it, a cell each.
  std::string weights = {};            ///< Absent until they are asked for.
};

/// Hashing reads the whole checkpoint: before the first run it would have paged it in.
const std::string& weights_of(Entry& entry) {
  if (entry.weights.empty()) {
    entry.weights = entry.model.random_weights() ? "random" : "sha256:" + weights_identity(entry.model);
  }
  return entry.weights;
}

void check_engine(const BenchRequest& request) {
  const std::string& meter = request.energy.meters.name;
  if (request.caches == Caches::cold && meter != "auto" && meter != "none")
    fail_user("--caches cold: what empties them would be metered, too; drop --meter {}", meter);
  for (const Contender& contender : asked_contenders(request)) {
    check_precision(contender, request.engine);
  }
  try {
    find_backend(request.engine.device);
  } catch (const Error& e) {  // What is lacking becomes a row; a name that nobody knows does not.
    if (e.code() != ExitCode::lacking) throw;
  }
}

bool is_same(const CellInputs& a, const CellInputs& b) {
  return a.extent.batch == b.extent.batch && a.extent.seq == b.extent.seq && a.data == b.data;
}

void say_rows_left(const Model& model, const CellInputs& inputs, const StudyCallbacks& callbacks) {
  if (inputs.rows_left == 0 || !callbacks.say) return;
  callbacks.say(fmt::format("{}: the last {} rows of {} make no batch of {}: they are not timed",
                            shown_model_name(model.name), inputs.rows_left, inputs.data, inputs.extent.batch));
}

/// One for each batch and length; lengths beyond that of the longest row are one.
std::vector<CellInputs> cells_of(const Model& model, const BenchRequest& request, const StudyCallbacks& callbacks) {
  std::vector<CellInputs> cells;
  for (const std::int64_t batch : request.batches) {
    for (const std::int64_t seq : asked_lengths(request)) {
      CellInputs inputs = cell_inputs(model, request, {batch, seq});
      const bool is_known =
          std::any_of(cells.begin(), cells.end(), [&](const CellInputs& known) { return is_same(known, inputs); });
      if (is_known) continue;
      say_rows_left(model, inputs, callbacks);
      cells.push_back(std::move(inputs));
    }
  }
  return cells;
}

Entry open_entry(const std::string& name, const BenchRequest& request, const StudyCallbacks& callbacks) {
  Entry entry{open_model(name, request.model_options), {}};
  if (callbacks.say) {
    for (const std::string& note : entry.model.notes)
      callbacks.say(fmt::format("{}: {}", shown_model_name(name), note));
  }
  entry.cells = cells_of(entry.model, request, callbacks);
  if (request.quality == QualityMode::automatic)
    entry.data = quality_data(entry.model, {request.data, request.protocol, request.model_options.seed});
  if (callbacks.say && !entry.data.note.empty())
    callbacks.say(fmt::format("{}: {}", shown_model_name(name), entry.data.note));
  return entry;
}

/// Cells that come after the one at hand, times their budget: what the progress line adds.
class Remaining {
 public:
  Remaining(const BenchRequest& request, std::size_t cells)
      : cell_s_(request.seconds), cells_(static_cast<double>(cells * asked_contenders(request).size())) {}
  /// Seconds after a cell of so many precisions has begun.
  double after_cell(std::size_t precisions) {
    cells_ -= static_cast<double>(precisions);
    return std::max(cells_, 0.0) * cell_s_;
  }

 private:
  double cell_s_;
  double cells_;
};

/// What one run holds beside its request.
struct Run {
  const BenchRequest& request;
  const MachineFacts& facts;
  const StudyCallbacks& callbacks;
  Power power;
  Remaining remaining;
  KeptCells kept;
};

KeptCells kept_cells(const BenchRequest& request, const StudyCallbacks& callbacks) {
  std::vector<Record> kept = callbacks.restore ? callbacks.restore() : std::vector<Record>{};
  const bool was_calibrated = std::any_of(kept.begin(), kept.end(), [](const Record& record) {
    return record.setting.calibration.has_value() && !record.setting.engine;
  });
  if (was_calibrated || (!kept.empty() && !request.calibration.empty()))
    fail_user("--resume: a run with calibrated rows is not gone on with; start it anew");
  return KeptCells(std::move(kept));
}

/// Of a row that was kept: its turn had not come, or an interrupt left it with a part of the data.
bool wants_score(const Record& record) {
  const QualityState state = record.quality->quality_status.state;
  return !record.outcome.restored || state == QualityState::not_scored_yet || state == QualityState::interrupted;
}

void say_without_speedup(const Run& run, const std::vector<Contender>& together) {
  const bool alone = run.request.baseline == Baseline::added && together.front() != Contender{"fp32", ""};
  if (!alone || !run.callbacks.say) return;
  run.callbacks.say(fmt::format("{}: fp32 does not fit into memory beside it: no speed-up and no divergence",
                                together.front().precision));
}

/// What a cell that has just ended is worth if the program is killed now.
void keep_cell(Entry& entry, const Run& run, std::vector<Record> records) {
  if (!run.callbacks.keep) return;
  for (Record& record : records) {
    record.setting.weights = weights_of(entry);
    if (record.outcome.status == Status::ok && run.request.quality != QualityMode::none)
      record.quality.made().quality_status = {QualityState::not_scored_yet};
    close_record(run.request, record);
  }
  keep_judged(run.callbacks, std::move(records));
}

/// The rows of a cell that the resumed run has; empty where it must be measured.
std::vector<Record> kept_cell(Entry& entry, const Run& run, std::vector<Record> blanks) {
  if (run.kept.empty()) return {};
  for (Record& blank : blanks) blank.setting.weights = weights_of(entry);
  return run.kept.cell(blanks);
}

/// Shapes that the resumed run has not measured; none after an interrupt.
std::vector<Extent> open_shapes(Entry& entry, const Run& run, const BenchGroup& group) {
  std::vector<Extent> shapes;
  for (const CellInputs& inputs : entry.cells) {
    const bool is_open = !stopped(run.callbacks) && kept_cell(entry, run, group.blanks(inputs)).empty();
    if (is_open) shapes.push_back(inputs.extent);
  }
  return shapes;
}

std::vector<Record> bench_group(Entry& entry, const GroupContext& context, Run& run,
                                const std::vector<Contender>& together, const std::vector<Record>& before) {
  BenchGroup group(entry.model, run.facts, context);
  group.open(together, bench_setting(entry.model, run.request, run.facts));
  if (run.request.isolate == Isolate::yes) group.try_apart(open_shapes(entry, run, group));
  std::vector<Record> measured;
  for (const CellInputs& inputs : entry.cells) {
    const double later_s = run.remaining.after_cell(together.size());
    if (stopped(run.callbacks)) continue;
    const std::size_t first = measured.size();
    const std::vector<Record> kept = kept_cell(entry, run, group.blanks(inputs));
    measured.insert(measured.end(), kept.begin(), kept.end());
    if (!kept.empty()) continue;
    measure_cell(group, inputs, later_s, measured);
    keep_cell(entry, run, without_known(before, std::span(measured).subspan(first)));
  }
  const bool scores = std::any_of(measured.begin(), measured.end(), wants_score);
  if (scores && !stopped(run.callbacks)) score(group, entry.data, measured);
  return measured;
}

PeerHost::Surroundings peer_surroundings(const Run& run) {
  return {.facts = run.facts,
          .callbacks = run.callbacks,
          .root = run.request.peers_root,
          .calibration = {run.request.calibration, run.request.calibration_samples},
          .seed = run.request.model_options.seed};
}

void bench_entry(Entry& entry, Run& run, std::vector<Record>& records) {
  std::unique_ptr<PeerHost> peers;
  if (!run.request.peers.empty()) peers = std::make_unique<PeerHost>(entry.model, peer_surroundings(run));
  std::vector<Record> mine;
  std::int64_t number = 0;
  BenchRequest request = run.request;
  if (entry.data.set) request.engine = engine_for(*entry.data.set, request.engine);
  for (const auto& together : group_precisions(entry.model, run.request, asked_contenders(run.request), run.facts)) {
    if (++number > 1) say_without_speedup(run, together);
    const GroupContext context{request, run.callbacks, run.power, number, peers.get()};
    std::vector<Record> measured = bench_group(entry, context, run, together, mine);
    const std::vector<Record> fresh = without_known(mine, with_baseline_samples(mine, std::move(measured)));
    mine.insert(mine.end(), fresh.begin(), fresh.end());
  }
  // Groups ran one after another; rows are read cell by cell.
  std::stable_sort(mine.begin(), mine.end(), [](const Record& a, const Record& b) {
    return std::pair(a.setting.batch, a.setting.seq) < std::pair(b.setting.batch, b.setting.seq);
  });
  for (Record& record : mine) {
    record.setting.weights = weights_of(entry);
    close_record(run.request, record);
  }
  keep_judged(run.callbacks, mine);
  records.insert(records.end(), mine.begin(), mine.end());
}

/// The request without what it asks for twice.
BenchRequest without_repeats(BenchRequest request) {
  const auto drop = [](auto& list) {
    auto kept = list.begin();
    for (auto it = list.begin(); it != list.end(); ++it) {
      if (std::find(list.begin(), kept, *it) == kept) *kept++ = *it;
    }
    list.erase(kept, list.end());
  };
  drop(request.models);
  drop(request.peers);
  drop(request.batches);
  drop(request.seqs);
  return request;
}

Power power_of(const BenchRequest& request) {
  if (request.caches == Caches::warm) return find_power(energy_on(request.engine.device, request.root, request.energy));
  return {.source = {nullptr, "what empties the caches would be metered, too"}};
}

/// What is asked of models that are compared with one of them: that one first, and in no precision but the ones asked.
BenchRequest with_compared_model(BenchRequest request) {
  if (request.against.empty()) return request;
  if (request.precisions.empty()) request.precisions = {"stored"};
  if (request.precisions.front() == "all") fail_user("--baseline {}: name the precisions, not all", request.against);
  request.models.insert(request.models.begin(), request.against);
  request.baseline = Baseline::as_asked;
  return request;
}

/// Calibrated weights are made in this process, and there alone.
BenchRequest with_calibration(BenchRequest request) {
  if (request.calibration.empty()) return request;
  if (request.processes > 1) fail_user("--calibrate with --processes {}: is timed in one process", request.processes);
  request.processes = 1;
  return request;
}

std::int64_t count_cells(const std::vector<Entry>& entries) {
  return std::accumulate(entries.begin(), entries.end(), std::int64_t{0}, [](std::int64_t sum, const Entry& entry) {
    return sum + static_cast<std::int64_t>(entry.cells.size());
  });
}

/// Other programs are timed in one process each, and so is this one beside them.
BenchRequest with_engines(BenchRequest request) {
  check_engines(request);
  if (!request.peers.empty() || !request.beside.empty()) request.processes = 1;
  return request;
}

std::vector<ComparedModel> opened_models(const std::vector<Entry>& entries) {
  std::vector<ComparedModel> models;
  models.reserve(entries.size());
  for (const Entry& entry : entries) models.push_back({&entry.model, &entry.data});
  for (const ComparedModel& one : models) check_comparable(models.front(), one);
  return models;
}

/// How each is timed: quality, where models are compared, is that of the comparison.
BenchRequest timed_request(BenchRequest request) {
  if (!request.against.empty()) request.quality = QualityMode::none;
  return request;
}

}  // namespace

Document bench(const BenchRequest& asked, const FactsSource& facts_source, const StudyCallbacks& callbacks) {
  BenchRequest request = without_repeats(with_compared_model(with_engines(with_calibration(asked))));
  check_engine(request);
  std::vector<Entry> entries;
  for (const std::string& model : request.models) entries.push_back(open_entry(model, request, callbacks));
  const ShardPart part = keep_part(request, count_cells(entries));
  if (part.is_empty()) return document_without_part(request.division);
  keep_cells(part.cells, entries);
  install_peers(request, callbacks);
  const bool compares = !request.against.empty();
  const std::vector<ComparedModel> models = compares ? opened_models(entries) : std::vector<ComparedModel>{};
  const MachineFacts facts = facts_source();
  for (Entry& entry : entries) calibrate_for(request, entry.model, facts, callbacks);
  const BenchRequest timed = timed_request(request);
  const auto cells = static_cast<std::size_t>(count_cells(entries));
  Run run{timed, facts, callbacks, power_of(timed), Remaining(timed, cells), kept_cells(timed, callbacks)};
  Document document;
  document.machine = machine_json(facts);
  for (Entry& entry : entries) {
    if (!stopped(callbacks)) bench_entry(entry, run, document.records);
  }
  document = judged(std::move(document));
  if (compares && !stopped(callbacks))
    document.tables.push_back(compared_models(models, request, facts, document.records, callbacks.interrupted));
  return document;
}

}  // namespace assay
