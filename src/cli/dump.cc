#include "studies/dump/run.h"

#include "base/streams.h"
#include "cli/cli.h"
#include "cli/output_options.h"

namespace assay {

void add_dump(CLI::App& program, Action& action) {
  struct Options {
    DumpRequest request;
    MachineOptions machine;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand("dump", "Run a model once on given tokens and write what it computed");
  command.footer(
      "example: assay dump gpt2 --tokens ids.json --precision bf16 --what logits,loss --out out.safetensors");
  command.add_option("model", options->request.model, "folder, .gguf file, cached model or preset")->required();
  command
      .add_option("--tokens", options->request.tokens,
                  "JSON: {\"input_ids\": [[..]], \"attention_mask\": ..?, \"labels\": ..?}")
      ->required();
  command.add_option("--precision", options->request.precision, "one precision (default fp32)");
  command.add_option("--what", options->request.what, "logits, loss, hidden, grads")->delimiter(',');
  command.add_option("--chunks", options->request.chunks, "run the tokens in such pieces through a cache: 5,1,1,9")
      ->delimiter(',');
  add_output_file(command, "--out", options->request.out, "safetensors file to write, f32")->required();
  add_engine_options(command, options->request.engine);
  add_recipe_option(command, options->request.engine, options->request.precision);
  add_model_options(command, options->request.model_options);
  add_machine_options(command, options->machine);
  command.callback([options, &action] {
    action = [options] {
      for (const std::string& sentence :
           dump(options->request, facts_for(options->machine, options->request.engine.device)))
        tell(sentence + "\n");
      return 0;
    };
  });
}

}  // namespace assay
