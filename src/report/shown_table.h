#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/table.h"

namespace assay {

enum class Align : std::uint8_t { left, right };

/// A table as people see it: which columns are shown, and every cell as text. Each format lays it out and escapes it.
struct ShownTable {
  struct Column {
    std::string title;
    std::string meaning = {};
    Align align = Align::left;
    Table::Role role = Table::Role::figure;
  };
  struct Cell {
    std::string text;
    std::optional<double> number = {};  ///< What it is sorted by.
  };

  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::vector<std::string> reasons;  ///< Why rows lack what they lack: "naive, fp32, D 16: oom: needs 9 GB".
};

/// The columns that `detail` shows. A column of states is left out where every row is ok.
ShownTable shown_table(const Table& table, Detail detail);

/// The titles and values of a table of facts that `detail` shows.
std::vector<std::pair<std::string, std::string>> shown_facts(const Table& facts, Detail detail);

/// Whether `detail` asks for what is meant for `needed`.
bool shows(Detail detail, Detail needed);

}  // namespace assay
