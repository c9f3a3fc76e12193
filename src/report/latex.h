#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Text as LaTeX prints it: what would be a command is escaped, letters that the usual fonts lack are their code
/// points.
std::string latex_text(std::string_view text);
/// A line of a table, its cells escaped.
std::string latex_line(const std::vector<std::string>& cells);
/// A `longtable` up to its rows; the caller ends it. `layout`: a letter or more for each column.
std::string latex_table_head(const std::string& layout, const std::string& caption,
                             const std::vector<std::string>& titles);

}  // namespace assay
