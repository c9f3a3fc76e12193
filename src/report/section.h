#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/document.h"

namespace assay {

/// A table of texts, the header line apart.
struct ReportTable {
  std::string caption = {};
  std::vector<std::string> columns = {};
  std::vector<std::vector<std::string>> rows = {};
};

/// What was to be expected, and what came.
struct ReportExpectation {
  std::string expectation = {};
  std::string observed = {};
  std::optional<bool> met;  ///< Absent: it could not be told.
};

/// A part of a report that is not made from records: what a study's other parts say.
struct ReportSection {
  std::string title = {};
  std::vector<std::string> paragraphs = {};
  std::vector<ReportTable> tables = {};
  std::vector<std::string> listings = {};  ///< Text with its own line breaks.
  std::vector<ReportExpectation> expectations = {};
  Document document = {};  ///< Of a study that returns one: its tables, charts and sentences.
};

/// The tables of a Markdown text (header line, rule, rows), in order; `caption` is the nearest line of text above.
std::vector<ReportTable> markdown_tables(const std::string& markdown);

}  // namespace assay
