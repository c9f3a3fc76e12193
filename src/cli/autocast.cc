#include <map>

#include "cli/cli.h"
#include "cli/outputs.h"
#include "studies/autocast/request.h"

namespace assay {
void add_autocast(CLI::App& program, Action& action) {
  struct Options {
    AutocastRequest request;
    MachineOptions machine;
    OutputOptions outputs;
  };
  const auto options = std::make_shared<Options>();
  AutocastRequest& request = options->request;
  CLI::App& command = *program.add_subcommand(
      "autocast", "Show the dtype of every value of a mixed-precision training step, and why norms keep f32");
  command.footer("example: assay autocast gpt2 --precision mixed-bf16");
  command.add_option("model", request.model, "toy (default), or folder, .gguf file, cached model or preset");
  command.add_option("--precision", request.precisions, "mixed-fp16, mixed-bf16 or both (default)")->delimiter(',');
  static const std::map<std::string, Fusion> fusion = {{"on", Fusion::on}, {"off", Fusion::off}};
  add_choice(command, "--fusion", request.fusion, fusion,
             "off: operation by operation, as eager autocast runs (default); on: the fused step that train runs");
  command.add_option("--seconds", request.seconds, "budget of each norm's timing (default 1)")
      ->check(between(0.01, 1e6));
  add_output_options(command, options->outputs, JsonOption::flag);
  add_model_options(command, request.model_options);
  add_machine_options(command, options->machine);
  command.callback([options, &action] {
    action = [options] {
      deliver(autocast(options->request, [&] { return facts_for(options->machine); }), options->outputs);
      return 0;
    };
  });
}

}  // namespace assay
