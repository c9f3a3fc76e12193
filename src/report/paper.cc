#include "report/paper.h"

#include <fmt/format.h>

#include "report/latex.h"
#include "report/methods.h"
#include "report/records/described.h"
#include "report/render.h"
#include "report/text.h"
#include "rules/verdict.h"

namespace assay {
namespace {

std::string heading_of(const ReportSource& source) {
  const std::string& title = source.document.subject.title;
  if (title.empty() && source.label.empty()) return "Results";
  if (title.empty() || source.label.empty()) return title.empty() ? source.label : title;
  return source.label + ": " + title;
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

}  // namespace

std::string latex_report(std::span<const ReportSource> sources, const std::string& title) {
  std::string text = fmt::format("{}\\title{{{}}}\n\\date{{}}\n\\maketitle\n", preamble, latex_text(title));
  for (const ReportSource& source : sources)
    text += fmt::format("\\section{{{}}}\n", latex_text(heading_of(source))) +
            latex_text_of(described(source.document, Detail::details), Detail::details);
  const std::vector<std::string> methods = methods_paragraphs(sources);
  if (!methods.empty()) text += "\\section{Methods}\n";
  for (const std::string& paragraph : methods) text += latex_text(paragraph) + "\n\n";
  return text + "\\end{document}\n";
}

std::string markdown_paper(std::span<const ReportSource> sources, const std::string& title) {
  std::string text = "# " + markdown_text(title) + "\n";
  for (const ReportSource& source : sources) {
    if (sources.size() > 1) text += fmt::format("\n# {}\n", markdown_text(heading_of(source)));
    text += markdown_text_of(described(source.document, Detail::details), Detail::details);
    const bool has_fields = !tells_in_their_place(source.document) && !source.document.records.empty();
    if (has_fields) text += markdown_text_of({.tables = {fields_table(subjects({&source, 1}))}}, Detail::details);
  }
  const std::vector<std::string> methods = methods_paragraphs(sources);
  if (!methods.empty()) text += "\n# Methods\n";
  for (const std::string& paragraph : methods) text += "\n" + paragraph + "\n";
  return text;
}

}  // namespace assay
