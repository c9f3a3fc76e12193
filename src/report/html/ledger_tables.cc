#include <fmt/format.h>

#include <algorithm>

#include "base/markup.h"
#include "base/units.h"
#include "report/html/tables.h"
#include "report/ledger_brief.h"
#include "report/operated.h"

namespace assay {
namespace {

/// Operations that ran alike.
struct OperatedGroup {
  const LedgerRow* row = nullptr;
  int count = 0;
  double flops = 0;
  double bytes = 0;
  double ms = 0;
};

bool is_one_group(const LedgerRow& a, const LedgerRow& b) {
  return ran_alike(a, b) && a.role == b.role && a.stored == b.stored;
}

std::vector<OperatedGroup> groups_of(const Record& record) {
  std::vector<OperatedGroup> groups;
  for (const Operated& one : operations_of(record)) {
    auto known = std::find_if(groups.begin(), groups.end(),
                              [&](const OperatedGroup& g) { return is_one_group(*g.row, *one.row); });
    if (known == groups.end()) known = groups.insert(groups.end(), OperatedGroup{one.row, 0, 0, 0, 0});
    ++known->count;
    known->flops += one.row->flops;
    known->bytes += one.bytes;
    known->ms += one.ms;
  }
  return groups;
}

PageCell figure_cell(double value) {
  if (value <= 0) return {"-", "0", true};
  return {format_significant(value), fmt::format("{}", value), true};
}

std::vector<PageCell> row_of(const OperatedGroup& group) {
  const LedgerRow& row = *group.row;
  return {{row.operation},
          {row.role},
          {std::to_string(group.count), "", true},
          {name(row.stored)},
          {name(row.operand)},
          {name(row.accumulator)},
          {name(row.verdict)},
          {row.kernel},
          {row.evidence},
          {row.device},
          figure_cell(group.flops / 1e9),
          figure_cell(group.bytes / 1e6),
          figure_cell(group.ms)};
}

PageTable ledger_table(const ReportSubject& subject, const Record& record, std::size_t number) {
  PageTable table{fmt::format("ledger-{}", number),
                  fmt::format("{}, {}: operations that ran alike share a row", record.setting.precision, subject.name),
                  {"operation", "role", "count", "stored", "operand", "accumulator", "verdict", "kernel", "evidence",
                   "device", "GFLOP", "MB", "ms"},
                  {}};
  for (const OperatedGroup& group : groups_of(record)) table.rows.push_back(row_of(group));
  return table;
}

std::string json_text(const OrderedJson& value) {
  if (value.is_null()) return "-";
  if (value.is_number_float()) return format_significant(value.get<double>(), 4);
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

/// An array of objects as a table, their keys as columns.
PageTable facts_table(const std::string& id, const std::string& key, const OrderedJson& list) {
  PageTable table{id, key, {}, {}};
  for (const auto& [column, value] : list.front().items()) {
    if (!value.is_array()) table.columns.push_back(column);
  }
  for (const OrderedJson& entry : list) {
    auto& row = table.rows.emplace_back();
    for (const std::string& column : table.columns) {
      const OrderedJson value = entry.is_object() && entry.contains(column) ? entry[column] : OrderedJson();
      row.push_back({json_text(value), "", value.is_number()});
    }
  }
  return table;
}

std::string machine_html(const ReportSource& source, std::size_t number) {
  std::string list = fmt::format("<h3>{}</h3><dl class=\"facts\">", markup_text(source.label));
  std::string tables;
  for (const auto& [key, value] : source.document.machine.items()) {
    const bool is_table = value.is_array() && !value.empty() && value.front().is_object();
    if (is_table) {
      tables += table_html(facts_table(fmt::format("machine-{}-{}", number, markup_text(key)), key, value));
    } else {
      list += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", markup_text(key), markup_text(json_text(value)));
    }
  }
  return list + "</dl>\n" + tables;
}

}  // namespace

std::string ledger_html(std::span<const ReportSubject> subjects) {
  std::string text;
  std::size_t number = 0;
  for (const ReportSubject& subject : subjects) {
    for (const Record* record : subject.records) {
      if (record->evidence.ledger.empty()) continue;
      text += fmt::format("<details><summary>{}, {}: {}</summary>{}</details>\n",
                          markup_text(record->setting.precision), markup_text(subject.name),
                          markup_text(what_ran(*record)), table_html(ledger_table(subject, *record, ++number)));
    }
  }
  return text.empty() ? "<p class=\"none\">no record holds a ledger</p>\n" : text;
}

std::string machines_html(std::span<const ReportSource> sources) {
  std::string text;
  for (const ReportSource& source : sources) {
    text += machine_html(source, static_cast<std::size_t>(&source - sources.data()) + 1);
  }
  return text;
}

}  // namespace assay
