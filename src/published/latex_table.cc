#include "published/latex_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace assay {
namespace {

/// "\textbf{FP16}" and "\multicolumn{2}{c}{GPU}" without their commands: what the last braces hold.
std::string bare_words(std::string cell) {
  for (auto at = cell.find('\\'); at != std::string::npos; at = cell.find('\\', at)) {
    auto end = at + 1;
    while (end < cell.size() && std::isalpha(static_cast<unsigned char>(cell[end]))) ++end;
    const std::string command = cell.substr(at + 1, end - at - 1);
    if (command == "times") {
      cell.replace(at, end - at, "x");
    } else if (command == "pm") {
      cell.replace(at, end - at, "±");
    } else if (command == "multicolumn" || command == "multirow") {
      const auto second = cell.find('{', cell.find('}', end));
      const auto close = second == std::string::npos ? std::string::npos : cell.find('}', second);
      cell.erase(at, close == std::string::npos ? std::string::npos : close + 1 - at);
    } else {
      cell.erase(at, std::max<std::size_t>(1, end - at));
    }
  }
  std::erase_if(cell, [](char c) { return c == '{' || c == '}' || c == '$'; });
  return cell;
}

/// Cells between pipes, an empty one before the first.
std::string piped(std::string row) {
  row = row.substr(0, row.rfind("\\\\"));
  std::string out = "|";
  std::size_t from = 0;
  for (std::size_t at = 0; at <= row.size(); ++at) {
    if (at < row.size() && (row[at] != '&' || (at > 0 && row[at - 1] == '\\'))) continue;
    out += " " + bare_words(row.substr(from, at - from)) + " |";
    from = at + 1;
  }
  return out;
}

std::string rule_under(const std::string& header) {
  std::string rule = "|";
  for (auto cells = std::count(header.begin(), header.end(), '|'); cells > 1; --cells) rule += "---|";
  return rule;
}

}  // namespace

std::string tabulars_as_pipes(const std::string& text) {
  if (text.find("\\begin{tabular") == std::string::npos) return text;
  std::istringstream lines(text);
  std::string out;
  bool is_inside = false;
  bool is_header = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\\begin{tabular") != std::string::npos) {
      is_inside = is_header = true;
      out += "\n";
    } else if (line.find("\\end{tabular") != std::string::npos) {
      is_inside = false;
      out += "\n";
    } else if (!is_inside) {
      out += bare_words(line) + "\n";
    } else if (line.find("\\\\") != std::string::npos) {
      const std::string row = piped(line);
      out += row + "\n" + (is_header ? rule_under(row) + "\n" : "");
      is_header = false;
    }
  }
  return out;
}

}  // namespace assay
