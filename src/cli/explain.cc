#include "studies/explain.h"

#include "base/json.h"
#include "base/streams.h"
#include "cli/cli.h"

namespace assay {

void add_explain(CLI::App& program, Action& action) {
  struct Options {
    ExplainRequest request;
    MachineOptions machine;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      *program.add_subcommand("explain", "Show what would run and why: program, plan, kernels, memory, ledger");
  command.footer("example: assay explain gpt2 --precision int8 --batch 1 --seq 128");
  command.add_option("model", options->request.model, "folder, .gguf file, cached model or preset")->required();
  command.add_option("--precision", options->request.precision, "one precision (default fp32)");
  command.add_option("--batch", options->request.extent.batch, "rows (default 1)")->check(CLI::Range(1, 1 << 20));
  command.add_option("--seq", options->request.extent.seq, "tokens a row (default 128)")->check(CLI::Range(1, 1 << 20));
  command.add_flag("--json", options->json, "print JSON");
  command.add_flag_callback(
      "--passes", [options] { options->request.passes = ShownPasses::all; },
      "print what each pass made of the program");
  add_engine_options(command, options->request.engine);
  add_model_options(command, options->request.model_options);
  add_machine_options(command, options->machine);
  command.callback([options, &action] {
    action = [options] {
      const MachineFacts facts = facts_for(options->machine, options->request.engine.device);
      print(options->json ? explain_json(options->request, facts).dump(2) + "\n"
                          : explain_text(options->request, facts));
      return 0;
    };
  });
}

}  // namespace assay
