#include "published/check.h"

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/measuring.h"
#include "cli/outputs.h"
#include "cli/report_source.h"

namespace assay {
namespace {

struct CheckCommand {
  CheckRequest request;
  OutputOptions outputs;
};

constexpr int high_stands = 10;

/// Records are JSON, as --json and `assay export` write them; tables are not.
bool holds_records(const std::string& file) {
  std::ifstream stream(file);
  return (stream >> std::ws).peek() == '{';
}

int check_records(const CheckCommand& options) {
  std::vector<ReportSource> sources;
  bool has_high = false;
  for (const std::string& file : options.request.files) {
    sources.push_back(read_source(file, {}));
    const std::vector<Finding>& findings = sources.back().document.findings;
    has_high |= std::any_of(findings.begin(), findings.end(),
                            [](const Finding& finding) { return finding.severity == Severity::high; });
  }
  deliver(sources, options.outputs, {});
  return has_high ? high_stands : 0;
}

int check_tables(const CheckCommand& options) {
  const CheckedTables checked = check_published(options.request);
  deliver(to_document(checked), options.outputs);
  return checked.count(Severity::high) > 0 ? high_stands : 0;
}

int run_check(const CheckCommand& options) {
  const auto& files = options.request.files;
  const auto records = std::count_if(files.begin(), files.end(), holds_records);
  if (records == 0) return check_tables(options);
  if (records == std::ssize(files)) return check_records(options);
  fail_user("{}: holds records where other files hold tables; check them one after the other",
            *std::find_if(files.begin(), files.end(), holds_records));
}

}  // namespace

void add_check(CLI::App& program, Action& action) {
  const auto options = std::make_shared<CheckCommand>();
  CheckRequest& request = options->request;
  CLI::App& command = *program.add_subcommand(
      "check", "Check the numbers of published tables, or of our own files, against each other and against physics");
  command.footer(
      "example: assay check examples/doubtful-table.md\n"
      "exit code: 10 where a finding of high severity stands, 2 where no column is understood, else 0");
  command
      .add_option("files", request.files,
                  ".csv, .tsv, Markdown or LaTeX with any number of tables; or what --json or assay export wrote")
      ->required();
  command.add_option("--column", request.columns, "NAME=QUANTITY[:unit]: what a column holds, as 'Zeit=latency:ms'");
  command.add_option("--device", request.device, "GPU that the tables are about (T4, A100, RTX 4090, ...)");
  command.add_option("--model", request.model, "model that they are about (gpt2, distilbert, ...)");
  add_output_options(command, options->outputs, JsonOption::flag);
  command.callback([options, &action] { action = [options] { return run_check(*options); }; });
}

}  // namespace assay
