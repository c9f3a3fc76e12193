#include "published/latex_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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
  std::replace(cell.begin(), cell.end(), '~', ' ');
  return cell;
}

/// Of "\\multicolumn{2}{c}{Batch 1}" 2; else 1.
int spanned_columns(const std::string& cell) {
  constexpr std::string_view command = "\\multicolumn{";
  constexpr int most = 64;
  const auto at = cell.find(command);
  if (at == std::string::npos) return 1;
  int columns = 1;
  std::from_chars(cell.data() + at + command.size(), cell.data() + cell.size(), columns);
  return std::clamp(columns, 1, most);
}

/// Cells between pipes, an empty one before the first.
std::string piped(std::string row) {
  row = row.substr(0, row.rfind("\\\\"));
  std::string out = "|";
  std::size_t from = 0;
  for (std::size_t at = 0; at <= row.size(); ++at) {
    if (at < row.size() && (row[at] != '&' || (at > 0 && row[at - 1] == '\\'))) continue;
    const std::string cell = row.substr(from, at - from);
    out += " " + bare_words(cell) + " |";
    for (int more = spanned_columns(cell); more > 1; --more) out += " |";
    from = at + 1;
  }
  return out;
}

std::string rule_under(const std::string& header) {
  std::string rule = "|";
  for (auto cells = std::count(header.begin(), header.end(), '|'); cells > 1; --cells) rule += "---|";
  return rule;
}

/// The caption that stands below the tabular at `from`, within its table; empty for none.
std::string caption_below(const std::string& text, std::size_t from) {
  const auto end = std::min(text.find("\\end{table}", from), text.size());
  const auto caption = text.find("\\caption", from);
  if (caption == std::string::npos || caption > end) return "";
  return bare_words(text.substr(caption, text.find('\n', caption) - caption)) + "\n\n";
}

}  // namespace

std::string tabulars_as_pipes(const std::string& text) {
  if (text.find("\\begin{tabular") == std::string::npos) return text;
  std::istringstream lines(text);
  std::string out;
  std::string begun;  // A row that goes on in the next line.
  std::size_t at = 0;
  bool is_inside = false;
  bool is_header = false;
  for (std::string line; std::getline(lines, line); at += line.size() + 1) {
    if (line.find("\\begin{tabular") != std::string::npos) {
      is_inside = is_header = true;
      out += "\n" + caption_below(text, at);
    } else if (line.find("\\end{tabular") != std::string::npos) {
      is_inside = false;
      begun.clear();
      out += "\n";
    } else if (!is_inside) {
      out += bare_words(line) + "\n";
    } else if (line.find("\\\\") != std::string::npos) {
      const std::string row = piped(begun + line);
      out += row + "\n" + (is_header ? rule_under(row) + "\n" : "");
      is_header = false;
      begun.clear();
    } else if (line.find('&') != std::string::npos) {
      begun += line + " ";
    }
  }
  return out;
}

}  // namespace assay
