#include <fmt/format.h>

#include "base/error.h"
#include "hub/command.h"
#include "studies/compare/run.h"
#include "studies/shared/child.h"

namespace assay {
namespace {

/// Milliseconds of the whole process, its start included.
double time_ms(const std::string& line, const std::filesystem::path& folder) {
  const CommandResult result = run_command({{"/bin/sh", "-c", line}, folder});
  throw_if_interrupted(line);
  if (result.exit_code != 0) {
    fail_user("{}: exit code {}: {}", line, result.exit_code, last_line(result.output));
  }
  return result.wall_s * 1e3;
}

}  // namespace

ComparisonReport compare_commands(const InterleaveRequest& request, const CompareOptions& options) {
  const ScratchFolder folder = make_folder("assay-compare");
  const InterruptScope scope = catch_interrupts();
  Comparison pair{.subject = "whole process"};
  time_ms(request.a, *folder.get());  // Files into the page cache.
  time_ms(request.b, *folder.get());
  for (std::int64_t round = 0; round < request.rounds; ++round) {
    const bool a_first = round % 2 == 0;
    if (a_first) pair.a_ms.push_back(time_ms(request.a, *folder.get()));
    pair.b_ms.push_back(time_ms(request.b, *folder.get()));
    if (!a_first) pair.a_ms.push_back(time_ms(request.a, *folder.get()));
  }
  ComparisonReport report{request.a, request.b, {std::move(pair)}, {}};
  report.notes.push_back(
      fmt::format("{} rounds by turns, A B B A: times of whole processes, start and end of the program included",
                  report.cells.front().a_ms.size()));
  decide(report.cells, Drawn::by_round, options);
  return report;
}

}  // namespace assay
