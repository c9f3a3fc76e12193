#pragma once

#include <filesystem>
#include <string>

#include "report/subject.h"

namespace assay {

/// A run of the store by its number, or a file that --json or `assay export` wrote, judged anew; labelled by its name.
ReportSource read_source(const std::string& run_or_file, const std::filesystem::path& store_file);

}  // namespace assay
