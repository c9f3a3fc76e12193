#include "results/table_json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>

namespace assay {
namespace {

using Members = std::vector<JsonMember>;

constexpr std::size_t most_parts = 16;       ///< Of a key: nobody nests deeper.
constexpr std::size_t most_cells = 1 << 23;  ///< Of a table, which a small file with many columns may reach.

/// What a cell holds beside its value follows it.
struct MembersOfCell {
  const Table::Column& column;
  Members& members;

  void put(std::size_t more, OrderedJson value) {
    members.emplace_back(more == 0 ? column.key : column.more_keys[more - 1], std::move(value));
  }
  void put_nothing_more() {
    for (std::size_t more = 1; more <= column.more_keys.size(); ++more) put(more, nullptr);
  }

  void operator()(const Absent&) {
    put(0, nullptr);
    put_nothing_more();
  }
  void operator()(double value) {
    put(0, finite_or_null(value));
    put_nothing_more();
  }
  void operator()(const Estimate& estimate) {
    put(0, finite_or_null(estimate.value));
    put(1, finite_or_null(estimate.low));
    put(2, finite_or_null(estimate.high));
  }
  void operator()(const RowStatus& status) {
    put(0, name(status.status));
    put(1, status.reason.empty() ? OrderedJson() : OrderedJson(status.reason));
  }
  void operator()(const std::vector<double>& curve) {
    OrderedJson list = OrderedJson::array();
    for (const double value : curve) list.push_back(finite_or_null(value));
    put(0, std::move(list));
    put_nothing_more();
  }
  template <typename T>
  void operator()(const T& value) {
    put(0, value);
    put_nothing_more();
  }
};

OrderedJson array_of_rows(const Table& table) {
  OrderedJson array = OrderedJson::array();
  for (const auto& row : table.rows) {
    const Members members = members_of(table, row);
    array.push_back(table.form == Table::Form::values ? members.front().second : object_of(members));
  }
  return array;
}

OrderedJson column_json(const Table::Column& column) {
  return {{"key", column.key},
          {"title", column.title},
          {"unit", column.unit},
          {"meaning", column.meaning},
          {"notation", name(column.notation)},
          {"digits", column.digits},
          {"signed", column.sign == Sign::always},
          {"spread", name(column.spread)},
          {"role", name(column.role)},
          {"detail", name(column.detail)},
          {"more_keys", column.more_keys}};
}

Table::Column column_from_json(const Json& json) {
  Table::Column column;
  json.at("key").get_to(column.key);
  json.at("title").get_to(column.title);
  json.at("unit").get_to(column.unit);
  json.at("meaning").get_to(column.meaning);
  column.notation = value_named<Notation, static_cast<int>(Notation::percent) + 1>(json, "notation");
  column.digits = std::clamp(json.at("digits").get<int>(), 0, 17);
  column.sign = json.at("signed").get<bool>() ? Sign::always : Sign::negative;
  column.spread = value_named<Spread, static_cast<int>(Spread::percent) + 1>(json, "spread");
  column.role = value_named<Table::Role, static_cast<int>(Table::Role::grade) + 1>(json, "role");
  column.detail = value_named<Detail, static_cast<int>(Detail::data) + 1>(json, "detail");
  json.at("more_keys").get_to(column.more_keys);
  if (column.more_keys.size() > 2) throw std::invalid_argument("more_keys");
  return column;
}

/// What JSON's null does not tell: the reason of an absent value, and which number it is that JSON does not have.
std::pair<std::string, std::string> why_null(const Table::Cell& cell) {
  if (const auto* absent = std::get_if<Absent>(&cell)) return {"reason", absent->reason};
  const auto* number = std::get_if<double>(&cell);
  if (number == nullptr || std::isfinite(*number)) return {"", ""};
  return {"value", std::isnan(*number) ? "nan" : *number > 0 ? "inf" : "-inf"};
}

/// Cells of a row that are null for one reason stand together.
OrderedJson nulls_of(const Table& table) {
  OrderedJson nulls = OrderedJson::array();
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    std::map<std::pair<std::string, std::string>, std::vector<std::string>> columns;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      auto why = why_null(table.rows[row][i]);
      if (!why.second.empty()) columns[std::move(why)].push_back(table.columns[i].key);
    }
    for (const auto& [why, keys] : columns) nulls.push_back({{"row", row}, {"columns", keys}, {why.first, why.second}});
  }
  return nulls;
}

Table::Cell cell_of_null(const Json& null) {
  if (const auto reason = null.find("reason"); reason != null.end()) return Absent{reason->get<std::string>()};
  const auto& word = null.at("value").get_ref<const std::string&>();
  if (word == "nan") return std::nan("");
  return word == "inf" ? HUGE_VAL : -HUGE_VAL;
}

void restore_nulls(const Json& nulls, Table& table) {
  for (const Json& null : nulls.get_ref<const Json::array_t&>()) {
    auto& row = table.rows.at(null.at("row").get<std::size_t>());
    for (const Json& key : null.at("columns").get_ref<const Json::array_t&>()) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        const bool is_meant = table.columns[i].key == key.get_ref<const std::string&>();
        if (is_meant && std::holds_alternative<Absent>(row[i])) row[i] = cell_of_null(null);
      }
    }
  }
}

Table::Cell status_from_json(const Json& value, const Json& reason) {
  const auto status = state_named<Status>(value.get_ref<const std::string&>());
  if (!status) throw std::invalid_argument("unknown status");
  return RowStatus{*status, reason.is_null() ? "" : reason.get<std::string>()};
}

Table::Cell number_from_json(const Json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return value.get<std::uint64_t>();
  return value.is_number_integer() ? Table::Cell(value.get<std::int64_t>()) : Table::Cell(value.get<double>());
}

/// What JSON cannot hold is null there.
std::vector<double> curve_from_json(const Json& value) {
  std::vector<double> curve;
  for (const Json& one : value) curve.push_back(one.is_null() ? std::nan("") : one.get<double>());
  return curve;
}

Table::Cell list_from_json(const Json& value) {
  const auto holds = [&](bool (*is_such)(const Json&)) { return std::any_of(value.begin(), value.end(), is_such); };
  if (holds([](const Json& one) { return one.is_string(); }) || value.empty())
    return value.get<std::vector<std::string>>();
  if (holds([](const Json& one) { return !one.is_number_integer(); })) return curve_from_json(value);
  return value.get<std::vector<std::int64_t>>();
}

/// `more`: values of the column's further keys.
Table::Cell cell_from_json(const Table::Column& column, const Json& value, const std::vector<const Json*>& more) {
  if (value.is_null()) return Absent{};
  if (column.holds_status()) return status_from_json(value, *more[0]);
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_array()) return list_from_json(value);
  if (column.holds_estimates() && more[0]->is_number() && more[1]->is_number())
    return Estimate{value.get<double>(), more[0]->get<double>(), more[1]->get<double>()};
  return number_from_json(value);
}

std::vector<Table::Cell> row_from_json(const Table& table, const Json& object) {
  std::vector<Table::Cell> row;
  for (const Table::Column& column : table.columns) {
    if (table.form == Table::Form::values) {
      row.push_back(cell_from_json(column, object, {}));
      continue;
    }
    std::vector<const Json*> more;
    for (const std::string& key : column.more_keys) more.push_back(&value_at(object, key));
    row.push_back(cell_from_json(column, value_at(object, column.key), more));
  }
  return row;
}

void check_keys(const Table& table) {
  const auto check = [](const std::string& key) {
    if (parts_of(key) > most_parts) throw std::invalid_argument("a key of too many parts");
  };
  check(table.key);
  for (const Table::Column& column : table.columns) {
    check(column.key);
    for (const std::string& key : column.more_keys) check(key);
  }
  const bool is_one_value = table.columns.size() == 1 && table.columns[0].more_keys.empty();
  if (table.form == Table::Form::values && !is_one_value) throw std::invalid_argument("columns of values");
}

void check_size(const Table& table, std::size_t rows) {
  if (rows > most_cells / std::max<std::size_t>(table.columns.size(), 1))
    throw std::invalid_argument("a table of too many cells");
}

}  // namespace

std::vector<JsonMember> members_of(const Table& table, const std::vector<Table::Cell>& row) {
  Members members;
  for (std::size_t i = 0; i < row.size(); ++i) std::visit(MembersOfCell{table.columns[i], members}, row[i]);
  return members;
}

void put_table(const Table& table, OrderedJson& document) {
  if (table.form == Table::Form::facts) {
    if (table.rows.empty()) return;
    const Members members = members_of(table, table.rows.front());
    if (table.key.empty()) return put_members(members, document);
    OrderedJson& object = place_at(document, table.key);
    if (!object.is_object()) object = OrderedJson::object();
    return put_members(members, object);
  }
  place_at(document, table.key) = array_of_rows(table);
}

OrderedJson description_of(const Table& table) {
  OrderedJson columns = OrderedJson::array();
  for (const Table::Column& column : table.columns) columns.push_back(column_json(column));
  return {{"key", table.key},         {"caption", table.caption},     {"legend", table.legend},
          {"form", name(table.form)}, {"detail", name(table.detail)}, {"columns", std::move(columns)},
          {"nulls", nulls_of(table)}};
}

Table described_table(const Json& description, const Json& document) {
  Table table;
  description.at("key").get_to(table.key);
  description.at("caption").get_to(table.caption);
  description.at("legend").get_to(table.legend);
  table.form = value_named<Table::Form, static_cast<int>(Table::Form::values) + 1>(description, "form");
  table.detail = value_named<Detail, static_cast<int>(Detail::data) + 1>(description, "detail");
  for (const Json& column : description.at("columns").get_ref<const Json::array_t&>())
    table.columns.push_back(column_from_json(column));
  check_keys(table);
  const Json& content = table.key.empty() ? document : value_at(document, table.key);
  if (table.form == Table::Form::facts) {
    if (!table.columns.empty()) table.rows.push_back(row_from_json(table, content));
  } else {
    check_size(table, content.get_ref<const Json::array_t&>().size());
    for (const Json& row : content) table.rows.push_back(row_from_json(table, row));
  }
  restore_nulls(description.at("nulls"), table);
  return table;
}

}  // namespace assay
