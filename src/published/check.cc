#include "published/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "base/printable.h"
#include "published/table_rules.h"

namespace assay {
namespace {

/// A table that says one thing twice (two rules, one row) is told once.
void drop_repeated(std::vector<Complaint>& complaints) {
  std::set<std::string> seen;
  std::erase_if(complaints, [&](const Complaint& one) {
    return !seen.insert(fmt::format("{}\n{}\n{}\n{}\n{}", one.file, one.table, one.id, one.row, one.sentence)).second;
  });
}

std::size_t count_of(const std::vector<Complaint>& complaints, Severity severity) {
  return static_cast<std::size_t>(std::count_if(complaints.begin(), complaints.end(),
                                                [&](const Complaint& one) { return one.severity == severity; }));
}

/// One line for a terminal, whatever the file's cells hold.
std::string line_of(std::string_view text) {
  constexpr std::size_t longest = 4000;
  return printable(text, longest) + "\n";
}

std::string heading_of(const PublishedTable& table) {
  std::string text = fmt::format("{}, table {}", table.file, table.number);
  if (!table.title.empty()) text += fmt::format(" ({})", table.title);
  return line_of(text);
}

std::string said_of(const PublishedTable& table) {
  if (table.rows.empty())
    return "  nothing recognised in it: no column whose figures mean anything here (see --column)\n";
  std::string text = line_of(fmt::format("  {} rows; {}", table.rows.size(), fmt::join(table.columns, ", ")));
  if (!table.unrecognised.empty())
    text += line_of(fmt::format("  not recognised: {}", fmt::join(table.unrecognised, ", ")));
  if (table.struck_rows > 0) text += fmt::format("  {} struck-out rows skipped\n", table.struck_rows);
  if (table.device) text += line_of(fmt::format("  device: {} ({})", table.device->name, table.device_source));
  if (table.model) text += line_of(fmt::format("  model: {} ({})", table.model->name, table.model_source));
  return text;
}

std::string place_of(const Complaint& complaint) {
  std::string place = complaint.row;
  if (!complaint.column.empty() && complaint.column != complaint.row)
    place += (place.empty() ? "" : ", ") + complaint.column;
  return place.empty() ? "" : " [" + place + "]";
}

std::string said_of(const Complaint& one) {
  std::string text = line_of(fmt::format("  {:<6} {}{}: {}", name(one.severity), one.id, place_of(one), one.sentence));
  if (one.severity >= Severity::medium) text += fmt::format("         {}\n", one.remedy);
  return text;
}

OrderedJson to_json(const PublishedTable& table) {
  OrderedJson json = {{"file", table.file},
                      {"table", table.number},
                      {"line", table.line},
                      {"title", table.title},
                      {"rows", table.rows.size()},
                      {"columns", table.columns},
                      {"unrecognised", table.unrecognised},
                      {"struck_rows", table.struck_rows},
                      {"device", nullptr},
                      {"model", nullptr}};
  if (table.device) json["device"] = table.device->name;
  if (table.model) json["model"] = table.model->name;
  return json;
}

}  // namespace

std::vector<Complaint> check_tables(const std::vector<PublishedTable>& tables) {
  Complaints say;
  for (const PublishedTable& table : tables) {
    for (const TableRule& rule : table_rules()) {
      say.begin(rule, table);
      rule.check(table, say);
    }
  }
  std::vector<Complaint> complaints = say.take();
  drop_repeated(complaints);
  std::stable_sort(complaints.begin(), complaints.end(),
                   [](const Complaint& a, const Complaint& b) { return a.severity > b.severity; });
  return complaints;
}

bool has_high(const std::vector<Complaint>& complaints) {
  return count_of(complaints, Severity::high) > 0;
}

OrderedJson check_json(const std::vector<PublishedTable>& tables, const std::vector<Complaint>& complaints) {
  OrderedJson json = {
      {"schema", "assay-check-1"}, {"tables", OrderedJson::array()}, {"findings", OrderedJson::array()}};
  for (const PublishedTable& table : tables) json["tables"].push_back(to_json(table));
  for (const Complaint& complaint : complaints) json["findings"].push_back(assay::to_json(complaint));
  OrderedJson counts = OrderedJson::object();
  for (const Severity severity : {Severity::high, Severity::medium, Severity::low, Severity::info})
    counts[name(severity)] = count_of(complaints, severity);
  json["counts"] = std::move(counts);
  return json;
}

std::string check_text(const std::vector<PublishedTable>& tables, const std::vector<Complaint>& complaints) {
  std::map<std::pair<std::string_view, int>, std::string> said;
  for (const Complaint& one : complaints) said[{one.file, one.table}] += said_of(one);
  std::string text;
  for (const PublishedTable& table : tables)
    text += heading_of(table) + said_of(table) + said[{table.file, table.number}] + "\n";
  text += fmt::format("{} high, {} medium, {} low, {} for information\n", count_of(complaints, Severity::high),
                      count_of(complaints, Severity::medium), count_of(complaints, Severity::low),
                      count_of(complaints, Severity::info));
  return text;
}

}  // namespace assay
