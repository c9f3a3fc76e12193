#pragma once

#include <vector>

#include "published/complaints.h"

namespace assay {

/// Applies every rule that has something to say of printed figures; the gravest first, then in the order of the tables.
std::vector<Complaint> check_tables(const std::vector<PublishedTable>& tables);

/// Whether a complaint of high severity stands among them.
bool has_high(const std::vector<Complaint>& complaints);

/// {"schema", "tables": [{file, table, title, rows, columns, ...}], "findings": [...], "counts": {...}}.
OrderedJson check_json(const std::vector<PublishedTable>& tables, const std::vector<Complaint>& complaints);
/// The same for people.
std::string check_text(const std::vector<PublishedTable>& tables, const std::vector<Complaint>& complaints);

}  // namespace assay
