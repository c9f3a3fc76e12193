#include "report/latex.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/printable.h"

namespace assay {
namespace {

/// What stands for a character beyond ASCII; empty: the character itself, which T1 fonts have.
std::string latex_symbol(char32_t code) {
  switch (code) {
    case 0xA0:
      return "~";
    case 0xB0:
      return "$^\\circ$";
    case 0xB1:
      return "$\\pm$";
    case 0xB5:
      return "$\\mu$";
    case 0xB7:
      return "$\\cdot$";
    case 0xD7:
      return "$\\times$";
    case 0x2013:
      return "--";
    case 0x2026:
      return "\\dots{}";
    case 0x2212:
      return "$-$";
    case 0x2264:
      return "$\\leq$";
    case 0x2265:
      return "$\\geq$";
    default:
      if (code >= 0xC0 && code < 0x180) return "";
      return fmt::format("[U+{:04X}]", static_cast<std::uint32_t>(code));
  }
}

char32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  char32_t code = first & (0xFFU >> (character.size() + 1));
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3FU);
  return code;
}

std::string latex_ascii(char c) {
  switch (c) {
    case '\\':
      return "\\textbackslash{}";
    case '~':
      return "\\textasciitilde{}";
    case '^':
      return "\\textasciicircum{}";
    case '<':
      return "\\textless{}";
    case '>':
      return "\\textgreater{}";
    case '|':
      return "\\textbar{}";
    case '"':
      return "\\textquotedbl{}";
    case '\'':
      return "\\textquotesingle{}";
    case '`':
      return "\\textasciigrave{}";
    case '-':
      return "{-}";  // Two of them are no dash.
    case '&':
    case '%':
    case '$':
    case '#':
    case '_':
    case '{':
    case '}':
      return std::string("\\") + c;
    default:
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? " " : std::string(1, c);
  }
}

}  // namespace

std::string latex_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text), 1);
    const std::string_view character = text.substr(0, length);
    const bool is_broken = length == 1 && static_cast<unsigned char>(text[0]) >= 0x80;
    if (is_broken) {
      result += "?";
    } else if (length == 1) {
      result += latex_ascii(text[0]);
    } else {
      const std::string symbol = latex_symbol(code_point(character));
      result += symbol.empty() ? std::string(character) : symbol;
    }
    text.remove_prefix(length);
  }
  return result;
}

std::string latex_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : " & ") + (cell.empty() ? "{}" : latex_text(cell));
  return line + " \\\\\n";
}

std::string latex_table_head(const std::string& layout, const std::string& caption,
                             const std::vector<std::string>& titles) {
  const std::string named = caption.empty() ? "" : fmt::format("\\caption{{{}}}\\\\\n", latex_text(caption));
  return fmt::format("\\begin{{longtable}}{{{}}}\n{}\\toprule\n{}\\midrule\n\\endhead\n\\bottomrule\n\\endfoot\n",
                     layout, named, latex_line(titles));
}

}  // namespace assay
