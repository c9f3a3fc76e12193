#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/document.h"
#include "results/json_places.h"
#include "results/store.h"

namespace assay {

// RFC 4180, one type a column: whole and other numbers bare, true and false, texts; absent values are empty; lists and
// ledgers are JSON arrays. Lines end with CR LF.

/// One value as a field, quoted where it must be.
std::string csv_value(const OrderedJson& value);
/// Fields that are ready.
std::string csv_line(const std::vector<std::string>& fields);

/// A line of CSV: a record's fields, what stands before them, and the run that they are of.
struct CsvRecord {
  const Record& record;
  std::vector<JsonMember> before = {};
  std::optional<RunOrigin> origin = {};
};
/// Their names: of `before`, every field, then run_date, run_command, run_commit and run_seal.
std::vector<std::string> csv_names(const std::vector<JsonMember>& before);
/// The values under those names, as JSON has them.
std::vector<JsonMember> flat_members(const CsvRecord& row);
/// A header line of names, then a line for each record. All must have the same `before`.
std::string csv_of_records(std::span<const CsvRecord> records);

}  // namespace assay
