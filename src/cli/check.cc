#include "published/check.h"

#include "cli/cli.h"
#include "cli/outputs.h"

namespace assay {
namespace {

struct CheckCommand {
  CheckRequest request;
  OutputOptions outputs;
};

int run_check(const CheckCommand& options) {
  constexpr int high_stands = 10;
  const CheckedTables checked = check_published(options.request);
  deliver(to_document(checked), options.outputs);
  return checked.count(Severity::high) > 0 ? high_stands : 0;
}

}  // namespace

void add_check(CLI::App& program, Action& action) {
  const auto options = std::make_shared<CheckCommand>();
  CheckRequest& request = options->request;
  CLI::App& command =
      *program.add_subcommand("check", "Check the numbers of published tables against each other and against physics");
  command.footer(
      "example: assay check examples/doubtful-table.md\n"
      "exit code: 10 where a finding of high severity stands, 2 where no column is understood, else 0");
  command.add_option("files", request.files, ".csv, .tsv, or Markdown or LaTeX with any number of tables")->required();
  command.add_option("--column", request.columns, "NAME=QUANTITY[:unit]: what a column holds, as 'Zeit=latency:ms'");
  command.add_option("--device", request.device, "GPU that the tables are about (T4, A100, RTX 4090, ...)");
  command.add_option("--model", request.model, "model that they are about (gpt2, distilbert, ...)");
  add_output_options(command, options->outputs, JsonOption::flag);
  command.callback([options, &action] { action = [options] { return run_check(*options); }; });
}

}  // namespace assay
