#include "base/json.h"
#include "report/csv.h"
#include "report/render.h"
#include "report/text.h"
#include "results/table_json.h"

namespace assay {
namespace {

std::vector<std::string> header_of(const Table& table) {
  std::vector<std::string> keys;
  for (const Table::Column& column : table.columns) {
    keys.push_back(column.key.empty() ? table.key : column.key);
    keys.insert(keys.end(), column.more_keys.begin(), column.more_keys.end());
  }
  return keys;
}

/// `name`: in a column before the others; empty: without it.
std::string csv_of_table(const Table& table, const std::string& name) {
  std::vector<std::string> header = header_of(table);
  if (!name.empty()) header.insert(header.begin(), "table");
  for (std::string& key : header) key = csv_field(key);
  std::string text = csv_line(header);
  for (const auto& row : table.rows) {
    std::vector<std::string> fields;
    if (!name.empty()) fields.push_back(csv_field(name));
    for (const JsonMember& member : members_of(table, row)) fields.push_back(csv_value(member.second));
    text += csv_line(fields);
  }
  return text;
}

}  // namespace

std::string csv_text_of(const Document& document) {
  if (document.tables.size() == 1) return csv_of_table(document.tables.front(), "");
  std::string text;
  for (const Table& table : document.tables) text += (text.empty() ? "" : "\r\n") + csv_of_table(table, table.key);
  return text;
}

}  // namespace assay
