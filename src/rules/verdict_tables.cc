#include <fmt/ranges.h>

#include <algorithm>

#include "results/identity.h"
#include "results/model_name.h"
#include "rules/verdict_parts.h"

namespace assay {
namespace {

constexpr const char* rows_key = "verdict.rows";
constexpr const char* proxies_key = "verdict.proxies";
constexpr const char* text_key = "verdict.text";
constexpr const char* asked_key = "verdict.asked";

/// What a line of the table of aims is made of.
struct AimLine {
  const char* scope;
  const AimChoice* choice;
  const AimRow* row;
};
using AimColumn = ColumnOf<AimLine>;

const Record& record_of(const AimLine& line) {
  return *line.row->row->record;
}

template <typename Line>
std::vector<ColumnOf<Line>> place_columns(const Record& (*record_of_line)(const Line& line)) {
  constexpr auto label = Table::Role::label;
  return {{{.key = "model", .role = label},
           [=](const Line& line) -> Table::Cell { return shown_model_name(record_of_line(line).setting.model); }},
          {{.key = "of", .role = label},
           [=](const Line& line) -> Table::Cell { return conditions_words(record_of_line(line), Level::cell); }},
          {{.key = "precision", .role = label},
           [=](const Line& line) -> Table::Cell { return record_of_line(line).setting.precision; }}};
}

std::vector<AimColumn> aim_columns() {
  constexpr auto label = Table::Role::label;
  std::vector<AimColumn> columns = place_columns<AimLine>(record_of);
  columns.insert(columns.begin(), {{.key = "scope", .meaning = "between what it was chosen", .role = label},
                                   [](const AimLine& line) -> Table::Cell { return line.scope; }});
  columns.push_back(
      {{.key = "aim", .role = label}, [](const AimLine& line) -> Table::Cell { return line.choice->aim->key; }});
  columns.push_back(
      {{.key = "stands", .role = label}, [](const AimLine& line) -> Table::Cell { return name(line.row->standing); }});
  columns.push_back(
      {{.key = "value", .more_keys = {"value_low", "value_high"}},
       [](const AimLine& line) -> Table::Cell { return gain_cell(line.choice->aim->figure(*line.row->row)); }});
  columns.push_back({{.key = "unit"}, [](const AimLine& line) -> Table::Cell { return line.choice->aim->unit; }});
  columns.push_back({{.key = "against_best",
                      .title = "against the best [95 %]",
                      .meaning = "Of what the best takes; of quality the difference.",
                      .more_keys = {"against_best_low", "against_best_high"}},
                     [](const AimLine& line) -> Table::Cell { return gain_cell(line.row->gain); }});
  columns.push_back({{.key = "by"}, [](const AimLine& line) -> Table::Cell {
                       return line.row->gain ? text_or_absent(line.row->gain->by) : Absent{};
                     }});
  columns.push_back(
      {{.key = "reason"}, [](const AimLine& line) -> Table::Cell { return text_or_absent(line.row->reason); }});
  columns.push_back({{.key = "trust", .role = Table::Role::grade},
                     [](const AimLine& line) -> Table::Cell { return named_or_absent(record_of(line).grade.trust); }});
  return columns;
}

/// A proxy's claim of a row beside what was measured.
struct ProxyLine {
  const VerdictRow* reference;
  const VerdictRow* row;
  Proxy proxy;
  std::optional<Gain> measured;
};

const Record& record_of_proxy(const ProxyLine& line) {
  return *line.row->record;
}

Table::Cell proxy_word(const ProxyLine& line) {
  if (!line.measured || !line.measured->range) return Absent{"there is no interval"};
  if (line.proxy.claimed > line.measured->range->high) return "claims too much";
  return line.proxy.claimed < line.measured->range->low ? "claims too little" : "holds";
}

std::vector<ColumnOf<ProxyLine>> proxy_columns() {
  std::vector<ColumnOf<ProxyLine>> columns = place_columns<ProxyLine>(record_of_proxy);
  columns.push_back({{.key = "as_fast_as", .title = "as fast as", .role = Table::Role::label},
                     [](const ProxyLine& line) -> Table::Cell { return line.reference->name; }});
  columns.push_back({{.key = "proxy", .role = Table::Role::label},
                     [](const ProxyLine& line) -> Table::Cell { return line.proxy.name; }});
  columns.push_back(
      {{.key = "claimed", .unit = "x"}, [](const ProxyLine& line) -> Table::Cell { return line.proxy.claimed; }});
  columns.push_back({{.key = "measured", .unit = "x", .more_keys = {"measured_low", "measured_high"}},
                     [](const ProxyLine& line) -> Table::Cell { return gain_cell(line.measured); }});
  columns.push_back({{.key = "says", .title = "proxy"}, proxy_word});
  return columns;
}

Table asked_table(std::span<const std::string> rows) {
  Table table{.key = asked_key, .form = Table::Form::values, .detail = Detail::data, .columns = {{}}};
  for (const std::string& row : rows) add_row(table, {row});
  return table;
}

bool is_of_verdict(const std::string& key) {
  return key.starts_with("verdict.");
}

void drop_verdict(Document& document) {
  std::erase_if(document.tables, [](const Table& table) { return is_of_verdict(table.key); });
  std::erase_if(document.sentences, [](const Sentences& sentences) { return is_of_verdict(sentences.key); });
}

}  // namespace

Table::Cell gain_cell(const std::optional<Gain>& gain) {
  if (!gain) return Absent{};
  if (!gain->range) return gain->value;
  return Estimate{gain->value, gain->range->low, gain->range->high};
}

Table verdict_table(const std::vector<VerdictPart>& parts) {
  std::vector<AimLine> lines;
  for (const VerdictPart& part : parts) {
    for (const AimChoice& choice : part.choices) {
      for (const AimRow& row : choice.rows) lines.push_back({part.scope, &choice, &row});
    }
  }
  return filled<AimLine>({.key = rows_key,
                          .caption = "Verdict: each aim and what intervals say of each row",
                          .legend = "take: the best, each other one told apart from it; alike: the whole interval "
                                    "within 3 % (bytes 1 %, quality "
                                    "0.01 nat or 1 point) of the best; not settled: neither",
                          .detail = Detail::details},
                         aim_columns(), lines);
}

Table proxies_table(const std::vector<VerdictCell>& cells) {
  std::vector<ProxyLine> lines;
  for (const VerdictCell& cell : cells) {
    const std::vector<const VerdictRow*> rows = usable_rows(cell);
    for (std::size_t i = 1; i < rows.size(); ++i) {
      for (const Proxy& proxy : proxies_of(*rows.front(), *rows[i]))
        lines.push_back({rows.front(), rows[i], proxy, measured_speed(*rows.front(), *rows[i])});
    }
  }
  return filled<ProxyLine>({.key = proxies_key,
                            .caption = "What proxies claim of the time, and what was measured",
                            .detail = Detail::details},
                           proxy_columns(), lines);
}

void tell_verdict(std::span<const std::string> rows, std::span<const VerdictSource> sources, Document& document) {
  drop_verdict(document);
  const std::vector<VerdictCell> cells = verdict_cells(rows, sources);
  const std::vector<VerdictPart> parts = verdict_parts(cells);
  Sentences sentences{.key = text_key, .title = "Verdict"};
  for (const VerdictPart& part : parts) sentences.texts.push_back(part.text);
  if (parts.empty()) sentences.texts.push_back(fmt::format("No record is of {}.", fmt::join(rows, " or ")));
  document.sentences.insert(document.sentences.begin(), std::move(sentences));
  document.tables.push_back(asked_table(rows));
  if (parts.empty()) return;
  document.tables.push_back(verdict_table(parts));
  document.tables.push_back(proxies_table(cells));
}

bool tells_in_their_place(const Document& document) {
  const auto is_other = [](const auto& part) { return !is_of_verdict(part.key); };
  return !document.figures.empty() || std::any_of(document.tables.begin(), document.tables.end(), is_other) ||
         std::any_of(document.sentences.begin(), document.sentences.end(), is_other);
}

std::vector<std::string> rows_of_verdict(const Document& document) {
  std::vector<std::string> rows;
  for (const Table& table : document.tables) {
    if (table.key != asked_key) continue;
    for (const auto& row : table.rows) {
      if (const auto* name = std::get_if<std::string>(&row.front())) rows.push_back(*name);
    }
  }
  return rows;
}

}  // namespace assay
