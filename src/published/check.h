#pragma once

#include <vector>

#include "published/complaints.h"
#include "published/request.h"
#include "results/document.h"

namespace assay {

/// Tables as they were understood, and what the rules say of them: the gravest first, then in the order of the tables.
struct CheckedTables {
  std::vector<PublishedTable> tables;
  std::vector<Complaint> complaints;
  Tested tested = {};

  /// How many are of that severity.
  std::int64_t count(Severity severity) const;
};

/// Applies every one of table_rules().
CheckedTables check_tables(std::vector<PublishedTable> tables);
/// Reads the files and checks what tables they hold. Throws a user error that names the file, device or model that is
/// not known, or holds no table.
CheckedTables check_published(const CheckRequest& request);

/// "tables" with what was recognised, "findings", "counts" by severity.
Document to_document(const CheckedTables& checked);

}  // namespace assay
