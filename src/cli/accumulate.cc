#include "experiments/accumulate.h"

#include <fmt/format.h>

#include "base/json.h"
#include "cli/cli.h"

namespace assay {

void add_accumulate(CLI::App& program, Action& action) {
  struct Options {
    AccumulateRequest request;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      *program.add_subcommand("accumulate", "Add one number many times in every dtype and say what is lost where");
  command.footer("example: assay accumulate --addend 0.001 --count 10000");
  command.add_option("--addend", options->request.addend, "what is added (default 0.01)");
  command.add_option("--count", options->request.count, "how often (default 1000)");
  command.add_option("--chunk", options->request.chunk, "terms a chunk of chunked accumulation (default 64)");
  command.add_option("--seed", options->request.seed, "of stochastic rounding");
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &action] {
    action = [options] {
      const std::vector<AccumulateRow> rows = accumulate(options->request);
      if (options->json) {
        fmt::print("{}\n", accumulate_json(options->request, rows).dump(2));
        return 0;
      }
      fmt::print("{}", accumulate_table(options->request, rows));
      for (const std::string& note : accumulate_notes(options->request, rows)) fmt::print("- {}\n", note);
      return 0;
    };
  });
}

}  // namespace assay
