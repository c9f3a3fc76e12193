#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "base/json_fwd.h"
#include "results/document.h"
#include "results/store.h"

namespace assay {

/// Names the form in which stores are exchanged.
constexpr const char* exchange_schema_name = "assay-store-1";

/// {"schema": "assay-store-1", "runs": [...], "records": [...]}: a record's fields are those of `--json`, with `run`
/// (its uid) and `saved` before them.
OrderedJson exchange_json(std::span<const StoredRecord> records, std::span<const StoredRun> runs,
                          const RunOrigin& origin);

/// Whether it begins as a store does. Throws a user error for what is no file.
bool is_store(const std::filesystem::path& file);

struct ExchangedRun {
  StoredRun run;
  std::vector<StoredRecord> records;
};
/// How many of how many records are read.
using RecordsRead = std::function<void(std::size_t done, std::size_t all)>;
/// What exchange_json gave. Throws a user error that names `source`.
std::vector<ExchangedRun> exchange_from_json(const Json& exchange, const std::string& source);
/// Another store, what exchange_json gave, or the document of a command that measures: that names no run, so its
/// content is hashed for a uid. Throws a user error that names the file.
std::vector<ExchangedRun> read_exchange(const std::filesystem::path& file, const RecordsRead& tell = {});

}  // namespace assay
