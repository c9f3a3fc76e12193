#include "cli/report_source.h"

#include "results/read_records.h"
#include "rules/rules.h"

namespace assay {

ReportSource read_source(const std::string& run_or_file, const std::filesystem::path& store_file) {
  NamedRecords read = read_records(run_or_file, store_file);
  return {std::filesystem::path(read.name).filename().string(), believed(std::move(read.document))};
}

}  // namespace assay
