#pragma once

#include <filesystem>
#include <string>

#include "results/document.h"

namespace assay {

/// Records with their machine, and what to call them.
struct NamedRecords {
  std::string name;  ///< "run 12", or the file as it was given.
  Document document;
};

/// A run of the store by its number, or a file that --json or `assay export` wrote, whichever version did; where a file
/// of that name exists, the file. Findings are those of the file: a store and an export have none. Throws a user error
/// that names what is missing.
NamedRecords read_records(const std::string& run_or_file, const std::filesystem::path& store_file);

}  // namespace assay
