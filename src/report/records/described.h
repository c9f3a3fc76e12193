#pragma once

#include "report/subject.h"
#include "results/document.h"

namespace assay {

/// The document with what people read of its records: tables of results, and sentences on what the columns rest on,
/// what ran, how far it can be trusted, what rules found. Its own tables and sentences stand before them.
Document described(const Document& document, Detail detail);

// Tables that a page shows each in a part of its own.

/// Rows without figures, and why.
Table left_out_table(std::span<const ReportSubject> subjects);
/// Grade and reasons of each measured row.
Table trust_table(std::span<const ReportSubject> subjects);
/// Mean power of each metered row beside the idle power and the limit.
Table power_table(std::span<const ReportSubject> subjects);
Table expectations_table(std::span<const ReportSource> sources);
/// Operations that ran alike share a row.
Table ledger_table(const Record& record, const std::string& caption);
/// Every field that has a short value, a column a record.
Table fields_table(std::span<const ReportSubject> subjects);

}  // namespace assay
