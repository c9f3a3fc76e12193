#include "report/section.h"

#include <algorithm>
#include <sstream>

namespace assay {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// The cells of "| a | b \| c |".
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') {
      cell += line[++i];
    } else if (line[i] == '|') {
      cells.push_back(trimmed(cell));
      cell.clear();
    } else {
      cell += line[i];
    }
  }
  return cells;
}

bool is_rule(const std::string& line) {
  return line.find('-') != std::string::npos && line.find_first_not_of("|:- ") == std::string::npos;
}

}  // namespace

std::vector<ReportTable> markdown_tables(const std::string& markdown) {
  std::vector<ReportTable> tables;
  std::istringstream stream(markdown);
  std::string caption;
  bool is_inside = false;
  for (std::string line; std::getline(stream, line);) {
    line = trimmed(line);
    if (!line.starts_with('|')) {
      is_inside = false;
      if (!line.empty()) caption = line.substr(std::min(line.find_first_not_of("# "), line.size()));
    } else if (!is_inside) {
      tables.push_back({caption, cells_of(line), {}});
      is_inside = true;
    } else if (!is_rule(line)) {
      tables.back().rows.push_back(cells_of(line));
    }
  }
  return tables;
}

}  // namespace assay
