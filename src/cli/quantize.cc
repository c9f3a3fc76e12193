#include "base/error.h"
#include "base/streams.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "studies/quantize/run.h"

namespace assay {

void add_quantize(CLI::App& program, Action& action) {
  struct Options {
    QuantizeRequest request;
    MachineOptions machine;
  };
  const auto options = std::make_shared<Options>();
  QuantizeRequest& request = options->request;
  CLI::App& command = *program.add_subcommand(
      "quantize", "Write a model in a precision or a recipe, for other programs: a folder of safetensors, or GGUF");
  command.footer(
      "examples: assay quantize smollm2-135m --precision int4-weights --out smollm2.gguf\n"
      "          assay quantize smollm2-135m --precision int8 --with @embedding=bf16,@head=bf16 --out smollm2-int8");
  command.add_option("model", request.model, "folder, .gguf file, cached model or preset")->required();
  command.add_option("--precision", request.precision, "one precision");
  add_recipe_option(command, request.engine, request.precision);
  add_with_option(command, request.engine);
  command.add_option("--calibrate", request.calibration,
                     "text, .tsv, .jsonl or folder of .npy that int8 is calibrated on");
  command.add_option("--samples", request.calibration_samples, "rows of it (default 128)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
  command.add_option("--out", request.out, "folder to make, or a file that ends in .gguf")->required();
  command.add_flag_callback(
      "--overwrite", [&request] { request.existing = Existing::overwritten; }, "replace the model that stands there");
  add_model_options(command, request.model_options);
  add_machine_options(command, options->machine);
  command.callback([options, &action] {
    action = [options] {
      if (options->request.precision.empty()) fail_user("quantize: --precision or --recipe says in what");
      for (const std::string& sentence : quantize(options->request, facts_for(options->machine), &watch_interrupts()))
        tell(sentence + "\n");
      return 0;
    };
  });
}

}  // namespace assay
