#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "results/record.h"

namespace assay {

/// Why there is no value. An empty reason: there cannot be one here.
struct Absent {
  std::string reason = {};
};

/// A value with the ends of its 95 % interval.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// What became of a row, and why where it is not ok.
struct RowStatus {
  Status status = Status::ok;
  std::string reason = {};
};

/// How people read a number. JSON and CSV hold it whole, whatever stands here.
enum class Notation : std::uint8_t {
  exact,        ///< The shortest text that reads back as the same number.
  significant,  ///< That many digits, never fewer than the whole part has: "0.0123", "12.3", "1234".
  fixed,        ///< That many digits behind the point.
  general,      ///< At most that many digits, with an exponent where that is shorter: "0.01", "6.1e-05".
  scientific,   ///< That many digits behind the point, with an exponent.
  count,        ///< Whole, in groups of three: "124,439,808".
  bytes,        ///< "91.3 MB"
  percent       ///< A share; that many digits behind the point of its percentage.
};
enum class Sign : std::uint8_t { negative, always };

/// How people read the interval of an estimate: its ends, or half its width, in percent of the value too. They read the
/// ends of one that is lopsided (statistics/statistics.h) in any case.
enum class Spread : std::uint8_t { ends, half_width, percent };
const char* name(Spread spread);

/// Who is shown something: everybody; who asks for details; programs alone (JSON and CSV have everything).
enum class Detail : std::uint8_t { brief, details, data };
const char* name(Detail detail);

/// A table as data: what stands in its cells, and how each column is to be read. Nothing in it is formatted.
struct Table {
  using Cell = std::variant<Absent, std::string, bool, std::int64_t, std::uint64_t, double, Estimate, RowStatus,
                            std::vector<std::string>, std::vector<std::int64_t>, std::vector<double>>;

  /// What a column is to its row: what was found, what the row is about, or how far it can be trusted.
  enum class Role : std::uint8_t { figure, label, grade };

  struct Column {
    std::string key = {};      ///< In JSON and CSV; see `member_at` in results/json_places.h for dots.
    std::string title = {};    ///< For people; empty: the key.
    std::string unit = {};     ///< Empty: a pure number or a text.
    std::string meaning = {};  ///< A sentence, where the title does not say it all.
    Notation notation = Notation::significant;
    int digits = 3;
    Sign sign = Sign::negative;
    Spread spread = Spread::ends;
    Role role = Role::figure;
    Detail detail = Detail::brief;
    /// Keys of what a cell holds beside its value: of an Estimate its low and its high end, of a RowStatus its reason.
    std::vector<std::string> more_keys = {};

    bool holds_estimates() const { return more_keys.size() == 2; }
    bool holds_status() const { return more_keys.size() == 1; }
  };

  /// How it stands in JSON, and how people see it.
  enum class Form : std::uint8_t {
    rows,   ///< An array with an object for each row.
    facts,  ///< One row: an object, shown as a list of titles and values.
    values  ///< One column: an array of values.
  };

  std::string key = {};  ///< Where it stands in JSON; empty (a table of facts alone): at the top.
  std::string caption = {};
  std::string legend = {};  ///< Sentences below it: how it is to be read.
  Form form = Form::rows;
  Detail detail = Detail::brief;
  std::vector<Column> columns = {};
  std::vector<std::vector<Cell>> rows = {};
};
const char* name(Notation notation);
const char* name(Table::Form form);
const char* name(Table::Role role);

/// Asserts that the row has a cell a column, an Estimate or a RowStatus only where the column has keys for their parts.
void add_row(Table& table, std::vector<Table::Cell> row);
/// A column more in the one row of a table of facts.
void add_fact(Table& facts, Table::Column column, Table::Cell value);

/// The cell of an optional figure.
template <typename T>
Table::Cell or_absent(const std::optional<T>& value, const std::string& reason = "") {
  return value ? Table::Cell(*value) : Table::Cell(Absent{reason});
}

/// The same with the ends of its interval, where it has both.
inline Table::Cell estimate_or_absent(const std::optional<double>& value, const std::optional<double>& low,
                                      const std::optional<double>& high, const std::string& reason = "") {
  if (!value || !low || !high) return or_absent(value, reason);
  return Estimate{*value, *low, *high};
}

/// The same of a state.
template <NamedState State>
Table::Cell named_or_absent(const std::optional<State>& value) {
  return value ? Table::Cell(name(*value)) : Table::Cell(Absent{});
}

/// The cell of a text that may be empty.
inline Table::Cell text_or_absent(const std::string& text) {
  return text.empty() ? Table::Cell(Absent{}) : Table::Cell(text);
}

/// A column, and what stands in it for what a row is made of.
template <typename Row>
struct ColumnOf {
  Table::Column column;
  std::function<Table::Cell(const Row&)> cell;
};

/// Fills `table` with these columns and a row for each of `rows`.
template <typename Row>
Table filled(Table table, const std::vector<ColumnOf<Row>>& columns, const std::vector<Row>& rows) {
  for (const ColumnOf<Row>& one : columns) table.columns.push_back(one.column);
  for (const Row& row : rows) {
    std::vector<Table::Cell> cells;
    for (const ColumnOf<Row>& one : columns) cells.push_back(one.cell(row));
    add_row(table, std::move(cells));
  }
  return table;
}

}  // namespace assay
