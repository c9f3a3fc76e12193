#pragma once

// What the readers of tables share. Only for src/formats.

#include <string>
#include <string_view>
#include <vector>

#include "formats/table_text.h"

namespace assay {

std::string_view trimmed(std::string_view text);
bool is_blank(std::string_view text);

/// The lines of a text, without their ends.
std::vector<std::string_view> lines_of(std::string_view text);

/// Counts cells and refuses too many.
class CellBudget {
 public:
  explicit CellBudget(const std::string& name) : name_(name) {}
  void take(std::size_t cells);

 private:
  const std::string& name_;
  std::size_t left_ = std::size_t{1} << 20;
};

TextDocument parse_csv(std::string_view text, CellBudget& budget);
TextDocument parse_markdown(std::string_view text, CellBudget& budget);

/// Only of '-', '=', '_', box drawing and blanks, at least three of them: "-----  ----".
bool is_rule(std::string_view line);
/// "|---|:--:|", "+----+----+".
bool is_pipe_rule(std::string_view line);
std::vector<std::string> split_pipes(std::string_view line);

/// Cells of a plain-text line that stand two blanks or a tab apart.
std::vector<std::string> split_columns(std::string_view line);
/// Cells of a row below the header `header`: two blanks apart, else one, else by where the header's words begin. Fewer
/// than two where the line is no row.
std::vector<std::string> split_row(std::string_view line, std::string_view header);

}  // namespace assay
