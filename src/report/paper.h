#pragma once

#include <span>
#include <string>

#include "report/section.h"
#include "report/subject.h"

namespace assay {

/// A LaTeX document (booktabs) for pdflatex: a table a subject, findings, methods, the sections of a study. Every text
/// is escaped; letters that the usual fonts lack are written as their code points.
std::string latex_report(std::span<const ReportSource> sources, std::span<const ReportSection> sections,
                         const std::string& title);

/// markdown_report of each source under its label, then sections and methods.
std::string markdown_paper(std::span<const ReportSource> sources, std::span<const ReportSection> sections,
                           const std::string& title);

}  // namespace assay
