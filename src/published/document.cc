#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "published/check.h"

namespace assay {
namespace {

using PrintedCell = Table::Cell;

/// Words of the page, which may say nothing.
PrintedCell words_or_absent(const std::string& words) {
  return words.empty() ? PrintedCell(Absent{}) : PrintedCell(words);
}

template <typename Known>
PrintedCell name_or_absent(const Known* known) {
  return known ? PrintedCell(known->name) : PrintedCell(Absent{});
}

/// A column that people need in some cases only.
Detail brief_where(bool is_needed) {
  return is_needed ? Detail::brief : Detail::data;
}

/// Which table of which file: the title says it of a single one.
Table::Column place_column(const char* key, std::size_t tables) {
  return {.key = key, .notation = Notation::exact, .role = Table::Role::label, .detail = brief_where(tables > 1)};
}

std::vector<ColumnOf<PublishedTable>> columns_of_tables(const std::vector<PublishedTable>& tables) {
  using Read = PublishedTable;
  constexpr auto exact = Notation::exact;
  const bool are_columns_lost =
      std::any_of(tables.begin(), tables.end(), [](const Read& t) { return !t.unrecognised.empty(); });
  const bool are_rows_struck =
      std::any_of(tables.begin(), tables.end(), [](const Read& t) { return t.struck_rows > 0; });
  return {
      {place_column("file", tables.size()), [](const Read& t) -> PrintedCell { return t.file; }},
      {place_column("table", tables.size()), [](const Read& t) -> PrintedCell { return std::int64_t{t.number}; }},
      {{.key = "line", .notation = exact}, [](const Read& t) -> PrintedCell { return std::int64_t{t.line}; }},
      {{.key = "title", .detail = brief_where(tables.size() > 1)},
       [](const Read& t) -> PrintedCell { return t.title; }},
      {{.key = "rows", .notation = exact},
       [](const Read& t) -> PrintedCell { return std::int64_t{std::ssize(t.rows)}; }},
      {{.key = "columns", .title = "recognised", .meaning = "column: what it holds"},
       [](const Read& t) -> PrintedCell { return t.columns; }},
      {{.key = "unrecognised", .title = "not recognised", .detail = brief_where(are_columns_lost)},
       [](const Read& t) -> PrintedCell { return t.unrecognised; }},
      {{.key = "struck_rows", .title = "struck out", .notation = exact, .detail = brief_where(are_rows_struck)},
       [](const Read& t) -> PrintedCell { return std::int64_t{t.struck_rows}; }},
      {{.key = "device"}, [](const Read& t) { return name_or_absent(t.device); }},
      {{.key = "device_source", .title = "device named by", .detail = Detail::details},
       [](const Read& t) { return words_or_absent(t.device_source); }},
      {{.key = "model"}, [](const Read& t) { return name_or_absent(t.model); }},
      {{.key = "model_source", .title = "model named by", .detail = Detail::details},
       [](const Read& t) { return words_or_absent(t.model_source); }},
  };
}

std::vector<ColumnOf<Complaint>> columns_of_findings(std::size_t tables) {
  constexpr auto label = Table::Role::label;
  return {
      {{.key = "id", .title = "rule", .role = label}, [](const Complaint& c) -> PrintedCell { return c.id; }},
      {{.key = "severity", .role = label}, [](const Complaint& c) -> PrintedCell { return name(c.severity); }},
      {place_column("file", tables), [](const Complaint& c) -> PrintedCell { return c.file; }},
      {place_column("table", tables), [](const Complaint& c) -> PrintedCell { return std::int64_t{c.table}; }},
      {{.key = "row"}, [](const Complaint& c) -> PrintedCell { return c.row; }},
      {{.key = "column"}, [](const Complaint& c) -> PrintedCell { return c.column; }},
      {{.key = "evidence", .detail = Detail::details}, [](const Complaint& c) -> PrintedCell { return c.evidence; }},
      {{.key = "sentence", .title = "finding"}, [](const Complaint& c) -> PrintedCell { return c.sentence; }},
      {{.key = "remedy", .detail = Detail::data}, [](const Complaint& c) -> PrintedCell { return c.remedy; }},
  };
}

std::vector<JudgedClaim> claims_of(const CheckedTables& checked) {
  std::vector<JudgedClaim> all;
  for (const PublishedTable& table : checked.tables) all.insert(all.end(), table.claims.begin(), table.claims.end());
  return all;
}

std::vector<ColumnOf<JudgedClaim>> columns_of_claims() {
  return {
      {{.key = "line", .notation = Notation::exact},
       [](const JudgedClaim& c) -> PrintedCell { return std::int64_t{c.line}; }},
      {{.key = "text", .title = "claim"}, [](const JudgedClaim& c) -> PrintedCell { return c.text; }},
      {{.key = "verdict"}, [](const JudgedClaim& c) -> PrintedCell { return name(c.verdict); }},
      {{.key = "bound_to", .title = "of"}, [](const JudgedClaim& c) { return words_or_absent(c.bound_to); }},
      {{.key = "stated"}, [](const JudgedClaim& c) -> PrintedCell { return c.stated; }},
      {{.key = "found"}, [](const JudgedClaim& c) { return words_or_absent(c.found); }},
      {{.key = "reason"}, [](const JudgedClaim& c) { return words_or_absent(c.reason); }},
  };
}

Table counts_of(const CheckedTables& checked) {
  Table counts{.key = "counts", .form = Table::Form::facts, .detail = Detail::data};  // The title says them.
  for (const Severity severity : {Severity::high, Severity::medium, Severity::low, Severity::info})
    add_fact(counts, {.key = name(severity), .notation = Notation::exact}, checked.count(severity));
  return counts;
}

std::int64_t columns_in(const CheckedTables& checked, std::vector<std::string> PublishedTable::*columns) {
  std::int64_t sum = 0;
  for (const PublishedTable& table : checked.tables) sum += std::ssize(table.*columns);
  return sum;
}

Table coverage_of(const CheckedTables& checked) {
  Table coverage{.key = "coverage", .form = Table::Form::facts, .detail = Detail::data};  // A sentence says it.
  const std::int64_t read = columns_in(checked, &PublishedTable::columns);
  const std::int64_t lost = columns_in(checked, &PublishedTable::unrecognised);
  add_fact(coverage, {.key = "columns_read", .notation = Notation::exact}, read);
  add_fact(coverage, {.key = "columns", .notation = Notation::exact}, read + lost);
  add_fact(coverage, {.key = "relations_tested", .notation = Notation::exact}, checked.tested.relations);
  add_fact(coverage, {.key = "limits_tested", .notation = Notation::exact}, checked.tested.limits);
  return coverage;
}

std::string coverage_words(const CheckedTables& checked) {
  const std::int64_t read = columns_in(checked, &PublishedTable::columns);
  return fmt::format("{} of {} columns read, {} relations tested, {} limits", read,
                     read + columns_in(checked, &PublishedTable::unrecognised), checked.tested.relations,
                     checked.tested.limits);
}

std::vector<std::string> notes_on(const std::vector<PublishedTable>& tables) {
  std::vector<std::string> notes;
  for (const PublishedTable& table : tables) {
    if (!table.rows.empty()) continue;
    notes.push_back(
        fmt::format("{}, table {}: nothing recognised in it: no column whose figures mean anything here (see --column)",
                    table.file, table.number));
  }
  return notes;
}

/// What to do about the graver findings, each remedy once.
std::vector<std::string> remedies_of(const std::vector<Complaint>& complaints) {
  std::vector<std::string> remedies;
  for (const Complaint& one : complaints) {
    if (one.severity < Severity::medium) continue;
    const std::string remedy = fmt::format("{}: {}", one.id, one.remedy);
    if (std::find(remedies.begin(), remedies.end(), remedy) == remedies.end()) remedies.push_back(remedy);
  }
  return remedies;
}

std::string what_was_checked(const std::vector<PublishedTable>& tables) {
  if (tables.size() != 1) return fmt::format("{} published tables", tables.size());
  const PublishedTable& table = tables.front();
  return fmt::format("{}, table {}{}", table.file, table.number, table.title.empty() ? "" : " (" + table.title + ")");
}

std::string title_of(const CheckedTables& checked) {
  return fmt::format("{}: {} high, {} medium, {} low, {} for information", what_was_checked(checked.tables),
                     checked.count(Severity::high), checked.count(Severity::medium), checked.count(Severity::low),
                     checked.count(Severity::info));
}

}  // namespace

Document to_document(const CheckedTables& checked) {
  Table tables{.key = "tables", .caption = "What was read:"};
  Table findings{.key = "findings", .caption = "What the rules say of it:"};
  findings.detail = brief_where(!checked.complaints.empty());
  Table claims{.key = "claims", .caption = "What sentences claim of it:", .detail = Detail::details};
  return {.subject = {.schema = "assay-check-1", .title = title_of(checked)},
          .tables = {filled(std::move(tables), columns_of_tables(checked.tables), checked.tables),
                     filled(std::move(findings), columns_of_findings(checked.tables.size()), checked.complaints),
                     filled(std::move(claims), columns_of_claims(), claims_of(checked)), counts_of(checked),
                     coverage_of(checked)},
          .sentences = {{.key = "coverage_words", .texts = {coverage_words(checked)}},
                        {.texts = notes_on(checked.tables)},
                        {.key = "remedies", .texts = remedies_of(checked.complaints), .title = "What to do"}}};
}

}  // namespace assay
