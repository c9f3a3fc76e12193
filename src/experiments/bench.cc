#include "experiments/bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "experiments/bench_group.h"
#include "experiments/bench_record.h"
#include "experiments/probe.h"
#include "results/rules.h"

namespace assay {
namespace {

/// The baseline of every speed-up and divergence first: fp32 as it is. Then what was asked, with its overrides.
std::vector<Contender> contenders(const BenchRequest& request) {
  std::vector<Contender> list;
  const auto add = [&](const Contender& contender) {
    if (std::find(list.begin(), list.end(), contender) == list.end()) list.push_back(contender);
  };
  if (request.baseline == Baseline::added) add({"fp32", ""});
  const bool all = request.precisions.empty() || (request.precisions.size() == 1 && request.precisions[0] == "all");
  if (all) {
    for (const Precision& row : precision_table()) add({row.name, request.engine.overrides});
  } else {
    for (const std::string& precision : request.precisions)
      add({find_precision(precision).name, request.engine.overrides});
  }
  return list;
}

bool stopped(const BenchCallbacks& callbacks) {
  return callbacks.interrupted != nullptr && callbacks.interrupted->load();
}

/// A later group repeats the baseline for its own ratios; the first group's rows stand for it.
void append_without_repeats(std::vector<Record>& all, std::vector<Record> more) {
  for (Record& record : more) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const Record& other) {
      return other.model == record.model && other.precision == record.precision && other.batch == record.batch &&
             other.seq == record.seq;
    });
    if (!known) all.push_back(std::move(record));
  }
}

/// A model that was asked for, and what it is scored on.
struct Entry {
  Model model;
  QualityData data;
};

void check_engine(const BenchRequest& request) {
  for (const Contender& contender : contenders(request)) {
    choose_precision(contender.precision, contender.overrides, std::nullopt);
  }
  try {
    find_backend(request.engine.device);
  } catch (const Error& e) {  // What is lacking becomes a row; a name that nobody knows does not.
    if (e.code() != ExitCode::lacking) throw;
  }
}

Entry open_entry(const std::string& name, const BenchRequest& request, const BenchCallbacks& callbacks) {
  Entry entry{open_model(name, request.model_options), {}};
  for (const std::int64_t batch : request.batches) {
    for (const std::int64_t seq : request.seqs) check_extent(entry.model, {batch, seq});
  }
  if (callbacks.say) {
    for (const std::string& note : entry.model.notes) callbacks.say(fmt::format("{}: {}", name, note));
  }
  entry.data = quality_data(entry.model, request);
  return entry;
}

void bench_entry(const Entry& entry, const BenchRequest& request, const MachineFacts& facts,
                 const BenchCallbacks& callbacks, std::vector<Record>& records) {
  const Model& model = entry.model;
  const Record blank = blank_record(model, request, facts);
  std::vector<Record> mine;
  for (const auto& together : group_precisions(model, request, contenders(request), facts)) {
    BenchGroup group(model, request, facts, callbacks);
    group.open(together, blank);
    std::vector<Record> measured;
    for (const std::int64_t batch : request.batches) {
      for (const std::int64_t seq : request.seqs) {
        if (!stopped(callbacks)) group.measure({batch, seq}, measured);
      }
    }
    if (!stopped(callbacks)) group.score(entry.data, measured);
    if (request.isolate == Isolate::yes) group.isolate(measured);
    append_without_repeats(mine, std::move(measured));
  }
  // Groups ran one after another; rows are read cell by cell.
  std::stable_sort(mine.begin(), mine.end(), [](const Record& a, const Record& b) {
    return std::pair(a.batch, a.seq) < std::pair(b.batch, b.seq);
  });
  for (Record& record : mine) records.push_back(std::move(record));
}

}  // namespace

Document bench(const BenchRequest& request, const FactsSource& facts_source, const BenchCallbacks& callbacks) {
  check_engine(request);
  std::vector<Entry> entries;
  for (const std::string& model : request.models) entries.push_back(open_entry(model, request, callbacks));
  const MachineFacts facts = facts_source();
  Document document;
  document.machine = machine_json(facts);
  for (const Entry& entry : entries) {
    if (!stopped(callbacks)) bench_entry(entry, request, facts, callbacks, document.records);
  }
  document.findings = judge(document.records);
  return document;
}

}  // namespace assay
