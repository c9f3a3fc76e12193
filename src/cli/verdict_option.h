#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "report/subject.h"

namespace assay {

/// `--verdict`, comma-separated: rows that the result has a verdict on.
void add_verdict_option(CLI::App& command, std::vector<std::string>& rows);

/// The verdict on the records of several sources, as a document of its own before them.
ReportSource verdict_source(std::span<const std::string> rows, std::span<const ReportSource> sources);

}  // namespace assay
