#include <algorithm>
#include <vector>

#include "report/record_titles.h"
#include "report/records/described.h"
#include "report/records/ledger_brief.h"
#include "report/records/operated.h"
#include "results/fields.h"
#include "results/identity.h"

namespace assay {
namespace {

struct Entry {
  const ReportSubject* subject;
  const Record* record;
};

std::vector<Entry> entries_where(std::span<const ReportSubject> subjects, bool (*holds)(const Record& record)) {
  std::vector<Entry> entries;
  for (const ReportSubject& subject : subjects) {
    for (const Record* record : subject.records) {
      if (holds(*record)) entries.push_back({&subject, record});
    }
  }
  return entries;
}

std::vector<ColumnOf<Entry>> naming_columns() {
  constexpr auto label = Table::Role::label;
  return {{{.title = "precision", .role = label},
           [](const Entry& e) -> Table::Cell { return row_name(e.record->setting); }},
          {{.title = "of", .role = label}, [](const Entry& e) -> Table::Cell { return e.subject->name; }}};
}

std::string met_word(const std::optional<bool>& met) {
  return met ? (*met ? "as expected" : "not as expected") : "cannot tell";
}

/// Operations that ran alike.
struct OperatedGroup {
  const LedgerRow* row = nullptr;
  std::int64_t count = 0;
  double flops = 0;
  double bytes = 0;
  double ms = 0;
};

bool is_one_group(const LedgerRow& a, const LedgerRow& b) {
  return ran_alike(a, b) && a.role == b.role && a.stored == b.stored && a.weight_in_file == b.weight_in_file &&
         a.weight_kept == b.weight_kept;
}

std::vector<OperatedGroup> groups_of(const Record& record) {
  std::vector<OperatedGroup> groups;
  for (const Operated& one : operations_of(record)) {
    auto known = std::find_if(groups.begin(), groups.end(),
                              [&](const OperatedGroup& group) { return is_one_group(*group.row, *one.row); });
    if (known == groups.end()) known = groups.insert(groups.end(), OperatedGroup{.row = one.row});
    ++known->count;
    known->flops += one.row->flops;
    known->bytes += one.bytes;
    known->ms += one.ms;
  }
  return groups;
}

Table::Cell if_positive(double value) {
  return value > 0 ? Table::Cell(value) : Table::Cell(Absent{});
}

ColumnOf<OperatedGroup> text_column(const char* title, std::string (*text)(const LedgerRow& row)) {
  return {{.title = title}, [text](const OperatedGroup& group) -> Table::Cell { return text(*group.row); }};
}

}  // namespace

Table left_out_table(std::span<const ReportSubject> subjects) {
  std::vector<ColumnOf<Entry>> columns = naming_columns();
  columns.push_back(
      {{.title = "status"}, [](const Entry& e) -> Table::Cell { return name(e.record->outcome.status); }});
  columns.push_back({{.title = "reason"}, [](const Entry& e) -> Table::Cell {
                       return e.record->outcome.reason.value_or("no reason was given");
                     }});
  return filled({.key = "left-out", .caption = "Rows without figures, and why"}, columns,
                entries_where(subjects, [](const Record& record) { return record.outcome.status != Status::ok; }));
}

Table trust_table(std::span<const ReportSubject> subjects) {
  std::vector<ColumnOf<Entry>> columns = naming_columns();
  columns.push_back({{.title = "grade", .role = Table::Role::grade},
                     [](const Entry& e) -> Table::Cell { return named_or_absent(e.record->grade.trust); }});
  columns.push_back(
      {{.title = "reasons"}, [](const Entry& e) -> Table::Cell { return e.record->grade.trust_reasons; }});
  return filled({.key = "trust", .caption = "How far each row can be trusted, and why"}, columns,
                entries_where(subjects, [](const Record& record) { return record.grade.trust.has_value(); }));
}

Table power_table(std::span<const ReportSubject> subjects) {
  std::vector<ColumnOf<Entry>> columns = naming_columns();
  columns.push_back({{.title = "mean", .unit = "W"},
                     [](const Entry& e) -> Table::Cell { return or_absent(e.record->energy->power_w); }});
  columns.push_back({{.title = "idle", .unit = "W"},
                     [](const Entry& e) -> Table::Cell { return or_absent(e.record->energy->idle_power_w); }});
  columns.push_back({{.title = "limit", .unit = "W"},
                     [](const Entry& e) -> Table::Cell { return or_absent(e.record->energy->power_limit_w); }});
  columns.push_back(
      {{.title = "meter"}, [](const Entry& e) -> Table::Cell { return to_text(e.record->energy->energy_status); }});
  return filled({.key = "power", .caption = "Mean power"}, columns, entries_where(subjects, [](const Record& record) {
                  return record.outcome.status == Status::ok && record.energy->power_w;
                }));
}

Table expectations_table(std::span<const ReportSource> sources) {
  std::vector<Finding> expectations;
  for (const ReportSource& source : sources) {
    for (const Finding& finding : source.document.findings) {
      if (finding.kind == RuleKind::expectation) expectations.push_back(finding);
    }
  }
  const std::vector<ColumnOf<Finding>> columns = {
      {{.title = "rule", .role = Table::Role::label}, [](const Finding& f) -> Table::Cell { return f.rule; }},
      {{.title = "of", .role = Table::Role::label},
       [](const Finding& f) -> Table::Cell { return f.model + (f.precision.empty() ? "" : ", " + f.precision); }},
      {{.title = "came"}, [](const Finding& f) -> Table::Cell { return met_word(f.met); }},
      {{.title = "observed"}, [](const Finding& f) -> Table::Cell { return f.text; }}};
  return filled({.key = "expectations", .caption = "Expectations"}, columns, expectations);
}

Table ledger_table(const Record& record, const std::string& caption) {
  const std::vector<ColumnOf<OperatedGroup>> columns = {
      text_column("operation", [](const LedgerRow& row) { return row.operation; }),
      text_column("role", [](const LedgerRow& row) { return row.role; }),
      {{.title = "count"}, [](const OperatedGroup& group) -> Table::Cell { return group.count; }},
      text_column("stored", [](const LedgerRow& row) -> std::string { return name(row.stored); }),
      text_column("weight in file", [](const LedgerRow& row) { return row.weight_in_file; }),
      text_column("kept as", [](const LedgerRow& row) { return row.weight_kept; }),
      text_column("operand", [](const LedgerRow& row) -> std::string { return name(row.operand); }),
      text_column("accumulator", [](const LedgerRow& row) -> std::string { return name(row.accumulator); }),
      text_column("verdict", [](const LedgerRow& row) -> std::string { return name(row.verdict); }),
      text_column("kernel", [](const LedgerRow& row) { return row.kernel; }),
      text_column("evidence", [](const LedgerRow& row) { return row.evidence; }),
      text_column("device", [](const LedgerRow& row) { return row.device; }),
      {{.title = "GFLOP"}, [](const OperatedGroup& group) { return if_positive(group.flops / 1e9); }},
      {{.title = "MB"}, [](const OperatedGroup& group) { return if_positive(group.bytes / 1e6); }},
      {{.title = "ms"}, [](const OperatedGroup& group) { return if_positive(group.ms); }}};
  return filled({.key = "ledger", .caption = caption}, columns, groups_of(record));
}

Table fields_table(std::span<const ReportSubject> subjects) {
  Table table{.key = "fields", .caption = "Every field that has a short value"};
  table.columns = {{.title = "field", .role = Table::Role::label}, {.title = "unit", .role = Table::Role::label}};
  const std::vector<Entry> entries = entries_where(subjects, [](const Record&) { return true; });
  for (const Entry& entry : entries) {
    const std::string of = subjects.size() > 1 ? ", " + entry.subject->name : "";
    table.columns.push_back({.title = row_name(entry.record->setting) + of});
  }
  table.columns.push_back({.title = "meaning"});
  for (const Field& field : record_fields()) {
    if (!is_short(field)) continue;
    std::vector<Table::Cell> row = {field.name, field.unit};
    for (const Entry& entry : entries) row.emplace_back(to_text(field, *entry.record));
    row.emplace_back(field.meaning);
    add_row(table, std::move(row));
  }
  return table;
}

}  // namespace assay
