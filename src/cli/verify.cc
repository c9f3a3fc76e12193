#include "studies/verify/run.h"

#include "cli/cli.h"
#include "cli/outputs.h"

namespace assay {
namespace {

struct VerifyCommand {
  std::string file;
  OutputOptions outputs;
};

int run_verify(const VerifyCommand& options) {
  constexpr int something_does_not_hold = 10;
  const Verification verification = verify(options.file);
  deliver(to_document(verification), options.outputs);
  return verification.holds() ? 0 : something_does_not_hold;
}

}  // namespace

void add_verify(CLI::App& program, Action& action) {
  const auto options = std::make_shared<VerifyCommand>();
  CLI::App& command = *program.add_subcommand(
      "verify", "Say whether results are as they were written, and their figures follow from their samples");
  command.footer(
      "example: assay verify run.json\n"
      "exit code: 10 where something does not hold, else 0");
  command.add_option("file", options->file, "what --json or assay export wrote, or a store")->required();
  add_output_options(command, options->outputs, JsonOption::flag);
  command.callback([options, &action] { action = [options] { return run_verify(*options); }; });
}

}  // namespace assay
