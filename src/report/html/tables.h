#pragma once

#include <span>
#include <string>

#include "report/shown_table.h"
#include "report/subject.h"

namespace assay {

/// A `table` that a script may make sortable, in a region of its own that scrolls where the window is narrow. `id`: of
/// the element, for links to it and to an order of it.
std::string table_html(const std::string& id, const std::string& caption, const ShownTable& table);
/// The same of a whole table; `nothing` in a paragraph where it has no rows.
std::string table_html(const Table& table, const std::string& nothing);

/// A table of all records that have figures.
std::string results_html(std::span<const ReportSubject> subjects);
/// Findings and expectations of every source.
std::string findings_html(std::span<const ReportSource> sources);
/// For each record what ran: kernels with their operations, dtypes, verdicts, evidence, and their shares.
std::string ledger_html(std::span<const ReportSubject> subjects);
/// The facts of each source's machine.
std::string machines_html(std::span<const ReportSource> sources);
/// Every field that has a short value, a column a record; a sentence where there are more than `most_records`.
std::string fields_html(std::span<const ReportSubject> subjects, std::size_t most_records);

}  // namespace assay
