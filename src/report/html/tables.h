#pragma once

#include <span>
#include <string>

#include "report/section.h"
#include "report/subject.h"

namespace assay {

/// What a table of the page is made of; cells are plain text.
struct PageCell {
  std::string text;
  std::string value = {};  ///< What sorting goes by where the text is no number: "0.0123"; empty: the text.
  bool is_number = false;
};
struct PageTable {
  std::string id;  ///< Of the element, for links to it and to an order of it.
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<PageCell>> rows;  ///< The first cell of each is its header.
  std::vector<std::string> meanings = {};   ///< Of the columns, shown where a pointer rests; fewer: none.
};
/// A `table` that a script may make sortable, in a region of its own that scrolls where the window is narrow.
std::string table_html(const PageTable& table);
/// A table of plain texts; cells that read as numbers are set to the right.
PageTable page_table(const ReportTable& table, const std::string& id);

/// The terminal's table of all records, a row a record.
std::string results_html(std::span<const ReportSubject> subjects);
/// Rows without figures, with status and reason; empty where there are none.
std::string left_out_html(std::span<const ReportSubject> subjects);
/// Grade and reasons of each measured row.
std::string trust_html(std::span<const ReportSubject> subjects);
/// Findings and expectations of every source.
std::string findings_html(std::span<const ReportSource> sources);
/// For each record what ran: kernels with their operations, dtypes, verdicts, evidence, and their shares.
std::string ledger_html(std::span<const ReportSubject> subjects);
/// The facts of each source's machine.
std::string machines_html(std::span<const ReportSource> sources);
/// Every field that has a short value, a column a record; a sentence where there are more than `most_records`.
std::string fields_html(std::span<const ReportSubject> subjects, std::size_t most_records);

}  // namespace assay
