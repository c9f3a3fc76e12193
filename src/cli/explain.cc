#include "studies/explain/request.h"

#include "cli/cli.h"
#include "cli/outputs.h"

namespace assay {

void add_explain(CLI::App& program, Action& action) {
  struct Options {
    ExplainRequest request;
    MachineOptions machine;
    OutputOptions outputs;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      *program.add_subcommand("explain", "Show what would run and why: program, plan, kernels, memory, ledger");
  command.footer("example: assay explain gpt2 --precision int8 --batch 1 --seq 128");
  command.add_option("model", options->request.model, "folder, .gguf file, cached model or preset")->required();
  command.add_option("--precision", options->request.precision, "one precision (default fp32)");
  command.add_option("--batch", options->request.extent.batch, "rows (default 1)")->check(CLI::Range(1, 1 << 20));
  command.add_option("--seq", options->request.extent.seq, "tokens a row (default 128)")->check(CLI::Range(1, 1 << 20));
  add_output_options(command, options->outputs, JsonOption::flag);
  command.add_flag_callback(
      "--passes", [options] { options->request.passes = ShownPasses::all; },
      "print what each pass made of the program");
  add_engine_options(command, options->request.engine);
  add_recipe_option(command, options->request.engine, options->request.precision);
  add_model_options(command, options->request.model_options);
  add_machine_options(command, options->machine);
  command.callback([options, &action] {
    action = [options] {
      const MachineFacts facts = facts_for(options->machine, options->request.engine.device);
      deliver(explain(options->request, facts), options->outputs);
      return 0;
    };
  });
}

}  // namespace assay
