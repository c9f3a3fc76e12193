#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/streams.h"
#include "cli/cli.h"
#include "cli/deliver.h"
#include "cli/origin.h"
#include "cli/output_options.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/run_recorder.h"
#include "cli/stores.h"
#include "report/csv.h"
#include "results/exchange.h"
#include "results/identity.h"
#include "studies/fleet/machines.h"
#include "studies/history/document.h"

namespace assay {
namespace {

struct HistoryCommand {
  StoreOptions store;
  Filter filter;
  std::string status;
  OutputOptions outputs;
};

struct ImportCommand {
  std::vector<std::string> files;
  StoreOptions store;
};

void add_filter_options(CLI::App& command, HistoryCommand& options) {
  Filter& filter = options.filter;
  command.add_option("--run", filter.run, "number of a run");
  command.add_option("--model", filter.model, "as it was asked for");
  command.add_option("--precision", filter.precision, "with its overrides, as the table shows it");
  command.add_option("--device", filter.device, "cpu, cuda, mps or reference");
  command.add_option("--since", filter.since, "a day or an instant in UTC: 2026-11-21, 2026-11-21T18:00");
  command.add_option("--status", options.status, "ok, oom, unsupported, ...");
  command.add_option("--limit", filter.newest, "at most so many records, the newest")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  add_read_store_option(command, options.store);
}

/// The start of an instant as the store writes it, from the year on: "2026-11", "2026-11-21", "2026-11-21T18:00".
bool is_instant(const std::string& text) {
  constexpr std::string_view digits = "0000-00-00T00:00:00.000";
  constexpr std::size_t ends[] = {4, 7, 10, 13, 16, 19, 23};
  if (std::find(std::begin(ends), std::end(ends), text.size()) == std::end(ends)) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (digits[i] == '0' ? !is_digit : text[i] != digits[i]) return false;
  }
  const auto number = [&](std::size_t at, int absent) {
    return text.size() > at ? std::stoi(text.substr(at, 2)) : absent;
  };
  const std::chrono::year_month_day day{std::chrono::year(std::stoi(text.substr(0, 4))),
                                        std::chrono::month(static_cast<unsigned>(number(5, 1))),
                                        std::chrono::day(static_cast<unsigned>(number(8, 1)))};
  return day.ok() && number(11, 0) < 24 && number(14, 0) < 60 && number(17, 0) < 61;
}

/// Instants are compared as texts; the store's all end in Z.
void check_since(Filter& filter) {
  if (!filter.since) return;
  std::string& since = *filter.since;
  const std::string asked = since;
  if (since.size() > 10 && since.ends_with('Z')) since.pop_back();
  if (!is_instant(since))
    fail_user("--since {}: no day or instant in UTC such as 2026-11-21 or 2026-11-21T18:00", printable(asked));
}

std::vector<StoredRecord> find(const Store& store, HistoryCommand& options) {
  if (!options.status.empty()) {
    options.filter.status = state_named<Status>(options.status);
    if (!options.filter.status) fail_user("--status {}: is not known", options.status);
  }
  check_since(options.filter);
  return store.find(options.filter);
}

std::string exchange_text(const Store& store, const std::vector<StoredRecord>& records) {
  return exchange_json(records, store.runs_of(records), run_origin())
             .dump(2, ' ', false, OrderedJson::error_handler_t::replace) +
         "\n";
}

std::vector<CsvRecord> csv_rows(const Store& store, const std::vector<StoredRecord>& records) {
  std::map<std::int64_t, RunOrigin> origins;
  for (StoredRun& run : store.runs_of(records))
    origins[run.id] = {std::move(run.started), std::move(run.command), std::move(run.commit), std::move(run.seal)};
  std::vector<CsvRecord> rows;
  rows.reserve(records.size());
  for (const StoredRecord& one : records)
    rows.push_back({one.record, {{"record", one.id}, {"run", one.run}, {"saved", one.saved}}, origins[one.run]});
  return rows;
}

int history(HistoryCommand& options) {
  const Store store(store_file(options.store), Access::read);
  const std::vector<StoredRecord> records = find(store, options);
  const Document document = to_document(believed_history(records), store.runs_of(records));
  // What other stores take over is what stands there.
  const OwnTexts own = {{ReportFormat::json, [&] { return exchange_text(store, records); }},
                        {ReportFormat::csv, [&] { return csv_of_records(csv_rows(store, records)); }}};
  deliver(document, options.outputs, own);
  return 0;
}

int export_records(HistoryCommand& options) {
  if (options.outputs.empty()) fail_user("export: --json FILE, --csv FILE or another format's file is needed");
  const Store store(store_file(options.store), Access::read);
  const std::vector<StoredRecord> records = find(store, options);
  const auto rows = [&] { return csv_rows(store, records); };
  std::vector<OutputFile> files = {{options.outputs.json, [&] { return exchange_text(store, records); }},
                                   {options.outputs.csv, [&] { return csv_of_records(rows()); }}};
  for (OutputFile& file : record_outputs(options.outputs, rows)) files.push_back(std::move(file));
  deliver([&] { print(fmt::format("{} records\n", records.size())); }, files);
  return 0;
}

/// What came of one file.
struct Imported {
  std::size_t runs = 0;
  std::size_t seen = 0;
  std::size_t taken = 0;
  std::set<std::string> grids = {};  ///< That its records name.
};

std::string imported_words(const Imported& one) {
  return fmt::format("{} records of {} runs read, {} were new\n", one.seen, one.runs, one.taken);
}

/// What `assay report` would not believe is taken over as it is, and told.
void tell_doubts(const std::string& file, const ExchangedRun& run) {
  std::size_t impossible = 0;
  std::string first;
  for (const StoredRecord& stored : believed_history(run.records)) {
    const CellOutcome& outcome = stored.record.outcome;
    if (outcome.status != Status::impossible && outcome.status != Status::not_finite) continue;
    if (impossible++ == 0)
      first = fmt::format("{}: {}", subject_words(stored.record), outcome.reason.value_or(name(outcome.status)));
  }
  if (impossible > 0)
    tell(fmt::format("{}: {} of its records cannot be right by the rules: {}{}\n", file, impossible, first,
                     impossible > 1 ? ", ..." : ""));
  const auto altered = std::count_if(run.records.begin(), run.records.end(),
                                     [](const StoredRecord& stored) { return is_altered(stored.record); });
  if (altered > 0)
    tell(fmt::format("{}: {} of its records were changed after they were written; assay verify names them\n", file,
                     altered));
}

Imported import_file(const std::string& file, const std::filesystem::path& store_file, Progress& progress) {
  const std::vector<ExchangedRun> runs = read_store(file, progress);
  Store store(store_file, Access::write);
  Imported came{.runs = runs.size()};
  for (const ExchangedRun& one : runs) {
    progress.show(fmt::format("{}: keeping {} records", file, one.records.size()), 0);
    came.seen += one.records.size();
    came.taken += store.merge(one.run, one.records, file);
    for (const StoredRecord& stored : one.records) {
      if (stored.record.share->grid) came.grids.insert(*stored.record.share->grid);
    }
  }
  progress.clear();
  for (const ExchangedRun& one : runs) tell_doubts(file, one);
  return came;
}

/// Of these grids, as the store has them now.
void print_missing(const std::filesystem::path& store, const std::set<std::string>& grids) {
  if (grids.empty()) return;
  std::vector<ExchangedRun> runs = read_exchange(store);
  std::erase_if(runs, [&](const ExchangedRun& run) {
    return std::none_of(run.records.begin(), run.records.end(), [&](const StoredRecord& stored) {
      return stored.record.share->grid && grids.contains(*stored.record.share->grid);
    });
  });
  const std::vector<MissingPart> missing = missing_parts(fleet_of(std::move(runs)));
  for (const MissingPart& part : missing) {
    print(fmt::format("missing: {}{} ({}): {}\n", part.part, part.machine.empty() ? "" : " on " + part.machine,
                      part.why, part.command));
  }
  if (missing.empty()) print("no part of a divided grid is missing\n");
}

int import_records(const ImportCommand& options) {
  Progress progress;
  const std::filesystem::path store = store_file(options.store);
  Imported all;
  const std::size_t failed = for_each_store(options.files, progress, [&](const std::string& file) {
    const Imported one = import_file(file, store, progress);
    if (options.files.size() > 1) print(file + ": " + imported_words(one));
    all.runs += one.runs;
    all.seen += one.seen;
    all.taken += one.taken;
    all.grids.insert(one.grids.begin(), one.grids.end());
  });
  progress.finish();
  if (failed < options.files.size()) {
    print(imported_words(all));
    print_missing(store, all.grids);
  }
  return failed > 0 ? static_cast<int>(ExitCode::user) : 0;
}

}  // namespace

void add_history(CLI::App& program, Action& action) {
  const auto options = std::make_shared<HistoryCommand>();
  CLI::App& command = *program.add_subcommand("history", "List what was measured before");
  command.footer("example: assay history --model gpt2 --precision bf16 --since 2026-11-01 --limit 20");
  add_filter_options(command, *options);
  add_output_options(command, options->outputs, JsonOption::flag);
  command.callback([options, &action] { action = [options] { return history(*options); }; });
}

void add_export(CLI::App& program, Action& action) {
  const auto options = std::make_shared<HistoryCommand>();
  CLI::App& command = *program.add_subcommand("export", "Write what was measured before to a file");
  command.footer("example: assay export --csv results.csv --model gpt2");
  add_output_file(command, "--json", options->outputs.json,
                  "file to write: runs and records, for assay import and compare");
  add_output_file(command, "--csv", options->outputs.csv, "file to write: a line a record, one type a column");
  add_record_outputs(command, options->outputs);
  add_filter_options(command, *options);
  command.callback([options, &action] { action = [options] { return export_records(*options); }; });
}

void add_import(CLI::App& program, Action& action) {
  const auto options = std::make_shared<ImportCommand>();
  CLI::App& command = *program.add_subcommand("import", "Take over the records of other stores or files");
  command.footer("examples: assay import laptop.db\n          assay import shard-*.db --store grid.db");
  command.add_option("files", options->files, "stores, what assay export wrote, or --json files, in any order")
      ->required();
  command.add_option("--store", options->store.file,
                     "database to write (default: results.db in $XDG_DATA_HOME/assay, else ~/.local/share/assay)");
  command.callback([options, &action] { action = [options] { return import_records(*options); }; });
}

}  // namespace assay
