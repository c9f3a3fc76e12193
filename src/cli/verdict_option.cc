#include "cli/verdict_option.h"

#include "rules/verdict.h"

namespace assay {

void add_verdict_option(CLI::App& command, std::vector<std::string>& rows) {
  command
      .add_option("--verdict", rows,
                  "two precisions or more, comma-separated: which to take for which aim, and what is not settled")
      ->delimiter(',');
}

ReportSource verdict_source(std::span<const std::string> rows, std::span<const ReportSource> sources) {
  std::vector<VerdictSource> all;
  for (const ReportSource& source : sources) all.push_back({source.document.records, source.document.findings});
  ReportSource verdict{"verdict", {.subject = {.schema = "assay-verdict-1", .title = "Verdict"}}};
  tell_verdict(rows, all, verdict.document);
  return verdict;
}

}  // namespace assay
