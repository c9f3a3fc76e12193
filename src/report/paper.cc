#include "report/paper.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "report/columns.h"
#include "report/formats.h"
#include "report/latex.h"
#include "report/methods.h"
#include "report/render.h"
#include "report/text.h"

namespace assay {
namespace {

std::string table_of(const ReportSubject& subject) {
  std::string layout;
  std::vector<std::string> titles;
  for (const Column& column : table_columns()) {
    layout += column.align == Align::left ? 'l' : 'r';
    titles.push_back(one_line_title(column, subject.records));
  }
  std::string text = latex_table_head(layout, subject.title, titles);
  for (const Record* record : subject.records) {
    if (record->outcome.status != Status::ok) {
      text +=
          fmt::format("{} & \\multicolumn{{{}}}{{p{{0.8\\linewidth}}}}{{{}: {}}} \\\\\n",
                      latex_text(shown_precision(*record)), table_columns().size() - 1, name(record->outcome.status),
                      latex_text(record->outcome.reason.value_or("no reason was given")));
      continue;
    }
    std::vector<std::string> cells;
    for (const Column& column : table_columns()) cells.push_back(column.cell(*record));
    text += latex_line(cells);
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
  const char* size = columns > most_wide ? "\\tiny\\setlength{\\tabcolsep}{2pt}" : "";
  std::string text = fmt::format("{{{}{}", size, latex_table_head(layout, table.caption, table.columns));
  for (std::vector<std::string> row : table.rows) {
    row.resize(columns);
    text += latex_line(row);
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
  text += latex_text_of(section.document, Detail::details);
  for (const ReportTable& table : section.tables) text += table_of(table);
  for (const std::string& listing : section.listings) text += listing_of(listing);
  return section.expectations.empty() ? text : text + table_of(expectations_of(section));
}

std::string heading_of(const ReportSource& source) {
  const std::string& title = source.document.subject.title;
  if (title.empty() || source.label.empty()) return title.empty() ? source.label : title;
  return source.label + ": " + title;
}

/// Tables of the records of documents that are nothing else.
std::string results_of(std::span<const ReportSource> sources) {
  std::vector<ReportSource> of_records;
  std::copy_if(sources.begin(), sources.end(), std::back_inserter(of_records),
               [](const ReportSource& source) { return !source.document.tells(); });
  if (of_records.empty()) return "";
  std::string tables;
  for (const ReportSubject& subject : subjects(of_records)) tables += table_of(subject);
  return "\\section{Results}\n{\\footnotesize\\setlength{\\tabcolsep}{3pt}\n" + tables + "}\n";
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
  text += markdown_text_of(section.document, Detail::details);
  for (const ReportTable& table : section.tables) text += markdown_of(table);
  for (const std::string& listing : section.listings) text += "\n```\n" + listing + "```\n";
  return section.expectations.empty() ? text : text + markdown_of(expectations_of(section));
}

}  // namespace

std::string latex_report(std::span<const ReportSource> sources, std::span<const ReportSection> sections,
                         const std::string& title) {
  std::string text = fmt::format("{}\\title{{{}}}\n\\date{{}}\n\\maketitle\n", preamble, latex_text(title));
  for (const ReportSection& section : sections) text += section_of(section);
  for (const ReportSource& source : sources) {
    if (source.document.tells()) text += section_of({.title = heading_of(source), .document = source.document});
  }
  text += results_of(sources) + findings_of(sources);
  const std::vector<std::string> methods = methods_paragraphs(sources);
  if (!methods.empty()) text += "\\section{Methods}\n";
  for (const std::string& paragraph : methods) text += latex_text(paragraph) + "\n\n";
  return text + "\\end{document}\n";
}

std::string markdown_paper(std::span<const ReportSource> sources, std::span<const ReportSection> sections,
                           const std::string& title) {
  std::string text = "# " + markdown_text(title) + "\n";
  for (const ReportSection& section : sections) text += markdown_of(section);
  for (const ReportSource& source : sources) {
    if (sources.size() > 1) text += fmt::format("\n# {}\n", markdown_text(heading_of(source)));
    text += source.document.tells() ? markdown_text_of(source.document, Detail::details)
                                    : "\n" + markdown_report(source.document);
  }
  const std::vector<std::string> methods = methods_paragraphs(sources);
  if (!methods.empty()) text += "\n# Methods\n";
  for (const std::string& paragraph : methods) text += "\n" + paragraph + "\n";
  return text;
}

}  // namespace assay
