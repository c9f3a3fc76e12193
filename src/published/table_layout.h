#pragma once

// From rows and columns of words to observations. Only for src/published.

#include <vector>

#include "published/published_table.h"

namespace assay {

/// Fills `rows`, `columns`, `unrecognised` and `struck_rows` of `table` from the words of `text`, whichever way round
/// the precisions stand.
void lay_out(const ParsedTable& text, const std::vector<ColumnMapping>& mappings, PublishedTable& table);

}  // namespace assay
