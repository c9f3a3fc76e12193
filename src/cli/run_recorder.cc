#include "cli/run_recorder.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "cli/origin.h"
#include "results/exchange.h"
#include "results/identity.h"

namespace assay {
namespace {

constexpr const char* this_program = "/proc/self/exe";

}  // namespace

void add_store_option(CLI::App& command, StoreOptions& options) {
  command.add_option("--store", options.file,
                     "database that keeps the records, or none (default: results.db in $XDG_DATA_HOME/assay, else "
                     "~/.local/share/assay)");
}

void add_read_store_option(CLI::App& command, StoreOptions& options) {
  command.add_option("--store", options.file,
                     "database to read (default: results.db in $XDG_DATA_HOME/assay, else ~/.local/share/assay)");
}

std::filesystem::path store_file(const StoreOptions& options) {
  return options.file.empty() ? default_store_file() : std::filesystem::path(options.file);
}

RunRecorder::RunRecorder(StoreOptions options, std::function<void(const std::string&)> say)
    : options_(std::move(options)), say_(std::move(say)) {}

template <typename Work>
void RunRecorder::attempt(Work&& work) {
  if (failed_ || options_.file == "none") return;
  try {
    work();
  } catch (const Error& e) {
    if (e.code() == ExitCode::defect) throw;
    failed_ = true;
    say_(fmt::format("{}: these results are printed, but not kept", e.what()));
  }
}

void RunRecorder::begin(const std::string& machine) {
  machine_ = machine;
}

/// Not before there is something to keep: a run that a mistake ends leaves nothing behind.
void RunRecorder::open() {
  if (store_) return;
  store_.emplace(store_file(options_), Access::write);
  const RunOrigin origin = run_origin();
  const RunFacts facts{origin.command, sha256_file(this_program), machine_, origin.commit, options_.settings};
  if (!options_.resumes) {
    run_ = store_->begin_run(facts);
    return;
  }
  const std::optional<StoredRun> known = store_->newest_run(facts);
  run_ = known ? known->id : store_->begin_run(facts);
  say_(known ? fmt::format("resumes run {} of {}", known->id, known->started)
             : "there is no run of this program with these settings on this machine to resume: begins one");
}

std::vector<Record> RunRecorder::restore() {
  std::vector<Record> records;
  attempt([&] {
    if (!options_.resumes) return;
    open();
    Filter filter;
    filter.run = run_;
    for (StoredRecord& stored : store_->find(filter)) {
      if (stored.source) continue;
      if (is_altered(stored.record)) {
        say_(fmt::format("{}: was changed after it was written, and is measured again", subject_words(stored.record)));
        continue;
      }
      stored.record.outcome.restored = stored.record.outcome.restored.value_or(stored.saved);
      records.push_back(std::move(stored.record));
    }
  });
  return records;
}

void RunRecorder::keep(std::span<const Record> records) {
  attempt([&] {
    open();
    store_->save(run_, records);
  });
}

RunSpreads RunRecorder::spread_between_runs(const Record& measured) {
  RunSpreads spreads;
  attempt([&] {
    open();
    const bool was_busy =
        measured.circumstances && measured.circumstances->foreign_load.value_or(0) >= Store::busy_load;
    const Store::EarlierFigures earlier = store_->earlier_figures({measured.setting.machine, run_, was_busy});
    const std::string cell = Store::cell_of(measured.setting);
    spreads = {assay::spread_between_runs(earlier.median_ms, cell), assay::spread_between_runs(earlier.speedup, cell)};
  });
  return spreads;
}

std::string RunRecorder::exchanged() {
  std::string text;
  attempt([&] {
    if (!store_) return;
    Filter filter;
    filter.run = run_;
    const std::vector<StoredRecord> records = store_->find(filter);
    text = exchange_json(records, store_->runs_of(records), run_origin())
               .dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  });
  return text;
}

void RunRecorder::end() {
  attempt([&] {
    if (store_) store_->end_run(run_);
  });
}

}  // namespace assay
