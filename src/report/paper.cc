#include "report/paper.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/printable.h"
#include "report/columns.h"
#include "report/formats.h"
#include "report/methods.h"
#include "report/text.h"

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

std::string line_of(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : " & ") + (cell.empty() ? "{}" : latex_text(cell));
  return line + " \\\\\n";
}

std::string table_of(const ReportSubject& subject) {
  std::string layout;
  std::vector<std::string> titles;
  for (const Column& column : table_columns()) {
    layout += column.align == Align::left ? 'l' : 'r';
    titles.push_back(one_line_title(column, subject.records));
  }
  std::string text = fmt::format(
      "\\begin{{longtable}}{{{}}}\n\\caption{{{}}}\\\\\n\\toprule\n{}\\midrule\n\\endhead\n\\bottomrule\n\\endfoot\n",
      layout, latex_text(subject.title), line_of(titles));
  for (const Record* record : subject.records) {
    if (record->status != Status::ok) {
      text += fmt::format("{} & \\multicolumn{{{}}}{{p{{0.8\\linewidth}}}}{{{}: {}}} \\\\\n",
                          latex_text(shown_precision(*record)), table_columns().size() - 1, name(record->status),
                          latex_text(record->reason.value_or("no reason was given")));
      continue;
    }
    std::vector<std::string> cells;
    for (const Column& column : table_columns()) cells.push_back(column.cell(*record));
    text += line_of(cells);
  }
  return text + "\\end{longtable}\n";
}

/// Columns share the width where there are few; many are set small and as wide as they need.
std::string table_of(const ReportTable& table) {
  const std::size_t columns = table.columns.size();
  constexpr std::size_t most_wide = 6;
  std::string layout;
  for (std::size_t i = 0; i < columns; ++i) {
    layout += columns > most_wide ? "l" : fmt::format("p{{{:.3f}\\linewidth}}", 0.9 / static_cast<double>(columns));
  }
  std::string text = fmt::format(
      "{{{}\\begin{{longtable}}{{{}}}\n\\caption{{{}}}\\\\\n\\toprule\n{}"
      "\\midrule\n\\endhead\n\\bottomrule\n\\endfoot\n",
      columns > most_wide ? "\\tiny\\setlength{\\tabcolsep}{2pt}" : "", layout, latex_text(table.caption),
      line_of(table.columns));
  for (std::vector<std::string> row : table.rows) {
    row.resize(columns);
    text += line_of(row);
  }
  return text + "\\end{longtable}}\n";
}

ReportTable expectations_of(const ReportSection& section) {
  ReportTable table{"What was expected, and what came", {"expectation", "observed", "came"}, {}};
  for (const ReportExpectation& one : section.expectations) {
    table.rows.push_back(
        {one.expectation, one.observed, one.met ? (*one.met ? "as expected" : "not as expected") : "cannot tell"});
  }
  return table;
}

std::string listing_of(const std::string& listing) {
  std::istringstream lines(listing);
  std::string text = "{\\tiny\\ttfamily\\obeylines\\obeyspaces\\parindent=0pt\n";
  for (std::string line; std::getline(lines, line);) text += (line.empty() ? "~" : latex_text(line)) + "\n";
  return text + "}\n\n";
}

std::string section_of(const ReportSection& section) {
  std::string text = fmt::format("\\section{{{}}}\n", latex_text(section.title));
  for (const std::string& paragraph : section.paragraphs) text += latex_text(paragraph) + "\n\n";
  for (const ReportTable& table : section.tables) text += table_of(table);
  for (const std::string& listing : section.listings) text += listing_of(listing);
  return section.expectations.empty() ? text : text + table_of(expectations_of(section));
}

std::string findings_of(std::span<const ReportSource> sources) {
  std::string items;
  for (const ReportSource& source : sources) {
    for (const Finding& finding : source.document.findings) items += "\\item " + latex_text(finding.text) + "\n";
  }
  return items.empty() ? items
                       : "\\section{Findings and expectations}\n\\begin{itemize}\n" + items + "\\end{itemize}\n";
}

constexpr const char* preamble = R"(\documentclass[9pt,a4paper]{extarticle}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{textcomp}
\usepackage[landscape,margin=15mm]{geometry}
\usepackage{booktabs}
\usepackage{longtable}
\sloppy
\begin{document}
)";

std::string markdown_of(const ReportTable& table) {
  std::string text = "\n" + table.caption + "\n\n|";
  for (const std::string& column : table.columns) text += fmt::format(" {} |", markdown_cell(column));
  text += "\n|";
  for (std::size_t i = 0; i < table.columns.size(); ++i) text += " :-- |";
  text += "\n";
  for (const auto& row : table.rows) {
    text += "|";
    for (const std::string& cell : row) text += fmt::format(" {} |", markdown_cell(cell));
    text += "\n";
  }
  return text;
}

std::string markdown_of(const ReportSection& section) {
  std::string text = fmt::format("\n# {}\n", section.title);
  for (const std::string& paragraph : section.paragraphs) text += "\n" + paragraph + "\n";
  for (const ReportTable& table : section.tables) text += markdown_of(table);
  for (const std::string& listing : section.listings) text += "\n```\n" + listing + "```\n";
  return section.expectations.empty() ? text : text + markdown_of(expectations_of(section));
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

std::string latex_report(std::span<const ReportSource> sources, std::span<const ReportSection> sections,
                         const std::string& title) {
  std::string text = fmt::format("{}\\title{{{}}}\n\\date{{}}\n\\maketitle\n", preamble, latex_text(title));
  for (const ReportSection& section : sections) text += section_of(section);
  text += "\\section{Results}\n{\\footnotesize\\setlength{\\tabcolsep}{3pt}\n";
  const std::vector<ReportSubject> all = subjects(sources);
  for (const ReportSubject& subject : all) text += table_of(subject);
  text += "}\n" + findings_of(sources) + "\\section{Methods}\n";
  for (const std::string& paragraph : methods_paragraphs(sources)) text += latex_text(paragraph) + "\n\n";
  return text + "\\end{document}\n";
}

std::string markdown_paper(std::span<const ReportSource> sources, std::span<const ReportSection> sections,
                           const std::string& title) {
  std::string text = "# " + title + "\n";
  for (const ReportSection& section : sections) text += markdown_of(section);
  for (const ReportSource& source : sources) {
    if (sources.size() > 1) text += fmt::format("\n# {}\n", source.label);
    text += "\n" + markdown_report(source.document);
  }
  text += "\n# Methods\n";
  for (const std::string& paragraph : methods_paragraphs(sources)) text += "\n" + paragraph + "\n";
  return text;
}

}  // namespace assay
