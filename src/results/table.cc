#include "results/table.h"

#include "base/error.h"

namespace assay {

const char* name(Detail detail) {
  constexpr const char* names[] = {"brief", "details", "data"};
  return names[static_cast<std::size_t>(detail)];
}

const char* name(Notation notation) {
  constexpr const char* names[] = {"exact",      "significant", "fixed", "general",
                                   "scientific", "count",       "bytes", "percent"};
  return names[static_cast<std::size_t>(notation)];
}

const char* name(Spread spread) {
  constexpr const char* names[] = {"ends", "half_width", "percent"};
  return names[static_cast<std::size_t>(spread)];
}

const char* name(Table::Role role) {
  constexpr const char* names[] = {"figure", "label", "grade"};
  return names[static_cast<std::size_t>(role)];
}

const char* name(Table::Form form) {
  constexpr const char* names[] = {"rows", "facts", "values"};
  return names[static_cast<std::size_t>(form)];
}

void add_row(Table& table, std::vector<Table::Cell> row) {
  ASSAY_ASSERT(row.size() == table.columns.size());
  ASSAY_ASSERT(table.form != Table::Form::facts || table.rows.empty());
  ASSAY_ASSERT(table.form != Table::Form::values || row.size() == 1);
  for (std::size_t i = 0; i < row.size(); ++i) {
    ASSAY_ASSERT(!std::holds_alternative<Estimate>(row[i]) || table.columns[i].holds_estimates());
    ASSAY_ASSERT(std::holds_alternative<Absent>(row[i]) ||
                 std::holds_alternative<RowStatus>(row[i]) == table.columns[i].holds_status());
  }
  table.rows.push_back(std::move(row));
}

void add_fact(Table& facts, Table::Column column, Table::Cell value) {
  ASSAY_ASSERT(facts.rows.size() <= 1);
  facts.form = Table::Form::facts;
  std::vector<Table::Cell> row;
  if (!facts.rows.empty()) row = std::move(facts.rows.front());
  facts.rows.clear();
  facts.columns.push_back(std::move(column));
  row.push_back(std::move(value));
  add_row(facts, std::move(row));
}

}  // namespace assay
