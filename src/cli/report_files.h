#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/deliver.h"
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
/// What `deliver` writes; `sources` and `sections` must outlive it.
std::vector<OutputFile> files_of(const ReportFiles& files, std::span<const ReportSource> sources,
                                 std::span<const ReportSection> sections, const std::string& title);

/// "smollm2-135m and gpt2: precisions measured".
std::string report_title(std::span<const ReportSource> sources);

}  // namespace assay
