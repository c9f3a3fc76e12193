#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "hub/command.h"
#include "measure/child.h"
#include "studies/compare/run.h"
#include "studies/shared/child.h"

namespace assay {
namespace {

/// Milliseconds of the whole process, its start included.
double time_ms(const std::string& line, const std::filesystem::path& folder) {
  const CommandResult result = run_command({{"/bin/sh", "-c", line}, folder});
  throw_if_interrupted(line);
  if (result.exit_code != 0) {
    const std::string said = last_line(result.output);
    fail_user("{}: exit code {}{}", line, result.exit_code, said.empty() ? "" : ": " + said);
  }
  return result.wall_s * 1e3;
}

}  // namespace

ComparisonReport compare_commands(const InterleaveRequest& request, const CompareOptions& options) {
  for (const std::string& line : {request.a, request.b}) parse_command({line});  // Throws for one of blanks alone.
  const ScratchFolder folder = make_folder("assay-compare");
  const InterruptScope scope = catch_interrupts();
  const auto timed = [&](const std::string& line) { return [&] { return time_ms(line, *folder.get()); }; };
  ComparisonReport report = compare_by_turns({timed(request.a), timed(request.b), now_s}, request, options);
  report.notes.emplace_back("times of whole processes, start and end of the program included");
  return report;
}

}  // namespace assay
