#pragma once

#include <span>
#include <string>

#include "results/store.h"

namespace assay {

/// A line a record, the runs below: at most 120 columns, ends with a newline.
std::string history_table(std::span<const StoredRecord> records, std::span<const StoredRun> runs);

/// RFC 4180, a line a record: record, run, saved, then every field. One type a column: whole and other numbers bare,
/// true and false, ISO 8601 times, texts; absent values are empty; series and ledgers are JSON arrays.
std::string history_csv(std::span<const StoredRecord> records);

}  // namespace assay
