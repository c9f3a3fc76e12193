#pragma once

// Records of pages without a table. Only for src/published.

#include <optional>

#include "formats/table_text.h"

namespace assay {

/// The table that lines such as "- Latency: 12.3 ms (FP16)", "INT8: accuracy 90.7 %, latency 8.1 ms" and "batch size:
/// 8" make: a row for each precision, section or repetition, a column for each name. What stands before the first
/// precision holds for all. None where no line gives a figure its name.
std::optional<ParsedTable> listed_records(const TextDocument& document);

}  // namespace assay
