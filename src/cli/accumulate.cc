#include "cli/cli.h"
#include "cli/outputs.h"
#include "studies/accumulate/request.h"

namespace assay {

void add_accumulate(CLI::App& program, Action& action) {
  struct Options {
    AccumulateRequest request;
    OutputOptions outputs;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      *program.add_subcommand("accumulate", "Add one number many times in every dtype and say what is lost where");
  command.footer("example: assay accumulate --addend 0.001 --count 10000");
  command.add_option("--addend", options->request.addend, "what is added (default 0.01)");
  command.add_option("--count", options->request.count, "how often (default 1000)");
  command.add_option("--chunk", options->request.chunk, "terms a chunk of chunked accumulation (default 64)");
  command.add_option("--seed", options->request.seed, "of stochastic rounding");
  add_output_options(command, options->outputs, JsonOption::flag);
  command.callback([options, &action] {
    action = [options] {
      deliver(accumulate(options->request), options->outputs);
      return 0;
    };
  });
}

}  // namespace assay
