#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "cli/cli.h"
#include "report/section.h"
#include "report/subject.h"

namespace assay {

/// What a report is written as; empty: not.
struct ReportFiles {
  std::filesystem::path html;
  std::filesystem::path latex;
  std::filesystem::path markdown;
  std::filesystem::path csv;
  bool empty() const { return html.empty() && latex.empty() && markdown.empty() && csv.empty(); }
};
/// `--html`, `--latex`, `--markdown`, `--csv`.
void add_report_options(CLI::App& command, ReportFiles& files);
/// Throws a user error for a file that could not be written.
void check_files(const ReportFiles& files);
void write_files(const ReportFiles& files, std::span<const ReportSource> sources,
                 std::span<const ReportSection> sections, const std::string& title);

/// "smollm2-135m and gpt2: precisions measured".
std::string report_title(std::span<const ReportSource> sources);

}  // namespace assay
