#pragma once

// Cells and columns on their way to observations. Only for src/published.

#include <string>
#include <vector>

#include "published/published_table.h"

namespace assay {

/// The cell as written; empty where the row is shorter.
std::string cell_of(const TextRow& row, std::size_t column);
/// What the header means: as mapped, else as read.
ColumnMeaning meaning_of(const std::string& header, const std::vector<ColumnMapping>& mappings);
/// Whether a column of it labels rows and holds no figures.
bool holds_words(Quantity quantity);
bool is_precision_word(const std::string& plain);

/// A figure into `observation`, unless its cell holds none or another unit than such a quantity has.
void put(Observation& observation, Quantity quantity, Unit header_unit, Measured measured);

/// Share of the cells that are not empty for which `sees` holds.
template <typename Sees>
double share_of(const ParsedTable& text, std::size_t column, Sees&& sees) {
  int filled = 0;
  int seen = 0;
  for (const TextRow& row : text.rows) {
    const std::string plain = plain_text(cell_of(row, column));
    if (plain.empty()) continue;
    ++filled;
    seen += sees(plain) ? 1 : 0;
  }
  return filled > 0 ? static_cast<double>(seen) / filled : 0;
}

}  // namespace assay
