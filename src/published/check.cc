#include "published/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "published/table_rules.h"

namespace assay {
namespace {

/// Tables are read by people; what is larger is a log.
constexpr std::size_t most_bytes = std::size_t{16} << 20;

/// A table that says one thing twice (two rules, one row) is told once.
void drop_repeated(std::vector<Complaint>& complaints) {
  std::set<std::string> seen;
  std::erase_if(complaints, [&](const Complaint& one) {
    return !seen.insert(fmt::format("{}\n{}\n{}\n{}\n{}", one.file, one.table, one.id, one.row, one.sentence)).second;
  });
}

template <typename Known>
std::string names_of(const Known& all) {
  std::string names;
  for (const auto& one : all) names += (names.empty() ? "" : ", ") + std::string(one.name);
  return names;
}

TableContext context_of(const CheckRequest& request) {
  TableContext context;
  for (const std::string& column : request.columns) context.columns.push_back(parse_mapping(column));
  if (!request.device.empty()) context.device = find_known_device(request.device);
  if (!request.device.empty() && !context.device)
    fail_user("--device {}: not known; {} are", request.device, names_of(known_devices()));
  if (!request.model.empty()) context.model = find_known_model(request.model);
  if (!request.model.empty() && !context.model)
    fail_user("--model {}: not known; {} are", request.model, names_of(known_models()));
  return context;
}

std::vector<PublishedTable> tables_of(const std::string& file, const TableContext& context) {
  const std::string text = read_file(file, most_bytes);
  if (text.empty()) fail_user("{}: is empty", file);
  const TextDocument document = parse_tables(text, table_format(file), file);
  if (document.tables.empty())
    fail_user("{}: no table found (Markdown with pipes, plain text with a rule under its header, or .csv)", file);
  return read_tables(document, file, context);
}

}  // namespace

std::int64_t CheckedTables::count(Severity severity) const {
  return std::count_if(complaints.begin(), complaints.end(),
                       [&](const Complaint& one) { return one.severity == severity; });
}

CheckedTables check_tables(std::vector<PublishedTable> tables) {
  Complaints say;
  for (const PublishedTable& table : tables) {
    for (const TableRule& rule : table_rules()) {
      say.begin(rule, table);
      rule.check(table, say);
    }
  }
  CheckedTables checked{std::move(tables), say.take()};
  drop_repeated(checked.complaints);
  std::stable_sort(checked.complaints.begin(), checked.complaints.end(),
                   [](const Complaint& a, const Complaint& b) { return a.severity > b.severity; });
  return checked;
}

CheckedTables check_published(const CheckRequest& request) {
  const TableContext context = context_of(request);
  std::vector<PublishedTable> tables;
  for (const std::string& file : request.files) {
    for (PublishedTable& table : tables_of(file, context)) tables.push_back(std::move(table));
  }
  return check_tables(std::move(tables));
}

}  // namespace assay
