#pragma once

#include <span>
#include <string>

#include "report/subject.h"

namespace assay {

/// A LaTeX document (booktabs) for pdflatex: a section for each source, then methods. Every text
/// is escaped; letters that the usual fonts lack are written as their code points.
std::string latex_report(std::span<const ReportSource> sources, const std::string& title);

/// Each source under its label with every field of its records, then methods.
std::string markdown_paper(std::span<const ReportSource> sources, const std::string& title);

}  // namespace assay
