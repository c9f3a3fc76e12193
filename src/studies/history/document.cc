#include "studies/history/document.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "rules/rules.h"

namespace assay {
namespace {

using Cell = Table::Cell;

Cell latency_cell(const StoredRecord& stored) {
  const Latency& latency = *stored.record.latency;
  if (!latency.median_ms) return Absent{};
  if (!latency.ci_low_ms || !latency.ci_high_ms) return *latency.median_ms;
  return Estimate{*latency.median_ms, *latency.ci_low_ms, *latency.ci_high_ms};
}

std::string quality_words(const Record& record) {
  const char* part = scored_part(record.quality->quality_status) ? " (a part)" : "";
  if (record.quality->perplexity)
    return fmt::format("perplexity {}{}", format_significant(*record.quality->perplexity, 4), part);
  if (record.quality->accuracy) return fmt::format("accuracy {:.1f} %{}", 100 * *record.quality->accuracy, part);
  if (record.difference->score_difference)
    return "scores within " + format_significant(*record.difference->score_difference, 2);
  return "";
}

/// What a reader must know of the row besides its figures.
std::string note_on(const StoredRecord& stored) {
  const Record& record = stored.record;
  std::string note;
  if (record.outcome.status != Status::ok)
    note = fmt::format("{}: {}", name(record.outcome.status), record.outcome.reason.value_or("no reason was given"));
  const auto say = [&](const std::string& text) { note += (note.empty() ? "" : "; ") + text; };
  if (is_altered(record)) say("changed after it was written");
  if (stored.source) say("imported from " + *stored.source + " beside another of this setting");
  return note;
}

const std::vector<ColumnOf<StoredRecord>>& record_columns() {
  static const std::vector<ColumnOf<StoredRecord>> columns = {
      {{.key = "record", .role = Table::Role::label}, [](const StoredRecord& s) -> Cell { return s.id; }},
      {{.key = "run", .role = Table::Role::label}, [](const StoredRecord& s) -> Cell { return s.run; }},
      {{.key = "saved", .title = "saved (UTC)", .role = Table::Role::label},
       [](const StoredRecord& s) -> Cell { return s.saved.substr(0, 16); }},
      {{.key = "model", .role = Table::Role::label},
       [](const StoredRecord& s) -> Cell { return s.record.setting.model; }},
      {{.key = "precision", .role = Table::Role::label},
       [](const StoredRecord& s) -> Cell { return s.record.setting.precision; }},
      {{.key = "device", .role = Table::Role::label},
       [](const StoredRecord& s) -> Cell { return s.record.setting.device; }},
      {{.key = "mode", .role = Table::Role::label, .detail = Detail::details},
       [](const StoredRecord& s) -> Cell { return name(s.record.setting.mode); }},
      {{.key = "shape", .role = Table::Role::label},
       [](const StoredRecord& s) -> Cell {
         return fmt::format("{} x {}", s.record.setting.batch, s.record.setting.seq);
       }},
      {{.key = "median_ms",
        .title = "latency",
        .unit = "ms",
        .spread = Spread::half_width,
        .more_keys = {"ci_low_ms", "ci_high_ms"}},
       latency_cell},
      {{.key = "speedup", .title = "speed-up"},
       [](const StoredRecord& s) { return or_absent(s.record.speedup->speedup); }},
      {{.key = "quality"}, [](const StoredRecord& s) { return text_or_absent(quality_words(s.record)); }},
      {{.key = "trust", .role = Table::Role::grade},
       [](const StoredRecord& s) { return named_or_absent(s.record.grade.trust); }},
      {{.key = "note"}, [](const StoredRecord& s) { return text_or_absent(note_on(s)); }}};
  return columns;
}

const std::vector<ColumnOf<StoredRun>>& run_columns() {
  static const std::vector<ColumnOf<StoredRun>> columns = {
      {{.key = "run", .role = Table::Role::label}, [](const StoredRun& run) -> Cell { return run.id; }},
      {{.key = "started", .title = "started (UTC)", .role = Table::Role::label},
       [](const StoredRun& run) -> Cell { return run.started.substr(0, 19); }},
      {{.key = "state"},
       [](const StoredRun& run) -> Cell { return run.ended ? "done" : "was ended before it was done, or still runs"; }},
      {{.key = "command"}, [](const StoredRun& run) -> Cell { return run.command; }},
      {{.key = "commit", .detail = Detail::details},
       [](const StoredRun& run) -> Cell { return text_or_absent(run.commit); }}};
  return columns;
}

}  // namespace

std::vector<StoredRecord> believed_history(std::vector<StoredRecord> records) {
  for (auto begin = records.begin(); begin != records.end();) {
    const auto end = std::find_if(begin, records.end(), [&](const StoredRecord& one) { return one.run != begin->run; });
    Document run;
    for (auto one = begin; one != end; ++one) run.records.push_back(std::move(one->record));
    run = believed(std::move(run));
    for (auto one = begin; one != end; ++one)
      one->record = std::move(run.records[static_cast<std::size_t>(one - begin)]);
    begin = end;
  }
  return records;
}

Document to_document(std::span<const StoredRecord> records, std::span<const StoredRun> runs) {
  Document document{.subject = {.schema = "assay-history-1", .title = "What was measured before"}};
  if (records.empty()) {
    document.sentences = {{.texts = {"No record is like that."}}};
    return document;
  }
  document.tables = {filled(Table{.key = "rows"}, record_columns(), {records.begin(), records.end()}),
                     filled(Table{.key = "runs", .caption = "Runs"}, run_columns(), {runs.begin(), runs.end()})};
  return document;
}

}  // namespace assay
