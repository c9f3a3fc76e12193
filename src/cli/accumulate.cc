#include "experiments/accumulate.h"

#include "base/json.h"
#include "base/streams.h"
#include "cli/cli.h"

namespace assay {
namespace {

std::string whole_text(const AccumulateRequest& request, const std::vector<AccumulateRow>& rows) {
  std::string text = accumulate_table(request, rows);
  for (const std::string& note : accumulate_notes(request, rows)) text += "- " + note + "\n";
  return text;
}

}  // namespace

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
      print(options->json ? accumulate_json(options->request, rows).dump(2) + "\n"
                          : whole_text(options->request, rows));
      return 0;
    };
  });
}

}  // namespace assay
