#pragma once

// From any printed form of a table to one row of headers over rows of figures. Only for src/published.

#include <string>
#include <vector>

#include "formats/table_text.h"

namespace assay {

struct ShapedTable {
  ParsedTable text;
  std::vector<std::string> spans;  ///< Over each header, what a row above spans it with: "Batch 1"; empty: nothing.
  bool is_turned = false;          ///< Its rows were columns.
};

/// Brings a table into that form: a second row of headers or of units, sections, columns that hold several figures
/// ("p50 / p99"), quantities that stand in rows or in a column of their own, units in a column of their own.
ShapedTable shaped(const ParsedTable& table);

}  // namespace assay
