#include "studies/memory/request.h"

#include "base/error.h"
#include "cli/cli.h"
#include "cli/output_options.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/train_options.h"
#include "report/draw/figure.h"

namespace assay {
namespace {

struct MemoryCommand {
  MemoryRequest request;
  std::vector<std::string> models;
  std::vector<std::string> recomputes;
  std::vector<std::int64_t> contexts = {4096};
  StorageLists storage;
  MachineOptions machine;
  OutputOptions outputs;
  std::filesystem::path svg;
};

/// What one mode has no use for is an error.
void settle_mode(MemoryCommand& options, const CLI::App& command) {
  const bool generates = options.request.mode == RunMode::generate;
  std::vector<const char*> unused = {"--context"};
  if (generates) unused = {"--seq", "--recompute"};
  if (options.request.mode != RunMode::train) unused.insert(unused.end(), {"--states", "--gradients"});
  for (const char* option : unused) {
    if (command.count(option) > 0)
      fail_user("--mode {}: {} says nothing of it; drop it", name(options.request.mode), option);
  }
  if (generates) options.request.seqs = options.contexts;
}

int run_memory(MemoryCommand& options) {
  for (const std::string& word : options.recomputes) options.request.recomputes.push_back(parse_recompute(word));
  options.request.storages = storages_of(options.storage.states, options.storage.gradients);
  const MachineFacts facts = facts_for(options.machine, options.request.engine.device);
  Progress progress;
  const Document document =
      memory(options.models, options.request, facts, [&](const std::string& what) { progress.show(what, 0); });
  progress.clear();
  deliver(document, options.outputs, {}, {{options.svg, [&] { return figures_svg(document.figures); }}});
  return answered_code(document);
}

}  // namespace

void add_memory(CLI::App& program, Action& action) {
  const auto options = std::make_shared<MemoryCommand>();
  MemoryRequest& request = options->request;
  CLI::App& command =
      *program.add_subcommand("memory", "Say what a model's run or training step needs, before it runs");
  command.footer("example: assay memory cs336-small --mode train --batch 4 --seq 128,256,512 --recompute none,block");
  command.add_option("model", options->models, "folders, .gguf files, cached models or presets, comma-separated")
      ->delimiter(',')
      ->required();
  command.add_option("--precision", request.precisions, "precisions, or all that the device lists (default)")
      ->delimiter(',');
  command.add_option("--seq", request.seqs, "tokens a row (default 128)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--batch", request.batch, "rows (default 1)")->check(CLI::Range(1, 1 << 20));
  add_mode_with_generate_option(command, request.mode);
  command
      .add_option("--context", options->contexts, "generate: tokens a row that the cache has room for (default 4096)")
      ->delimiter(',')
      ->check(CLI::Range(2, 1 << 20));
  command.add_option("--recompute", options->recomputes, "training: none, attention, block (default: all three)")
      ->delimiter(',');
  add_storage_lists(command, options->storage);
  command.add_flag_callback(
      "--measure", [&request] { request.measure = Measure::yes; },
      "run what fits, each in a process of its own, and say how well the prediction agrees");
  add_output_options(command, options->outputs);
  add_output_file(command, "--svg", options->svg, "draw live bytes over the steps");
  add_engine_options(command, request.engine);
  add_recipe_option(command, request.engine, request.precisions);
  add_model_options(command, request.model_options);
  add_machine_options(command, options->machine);
  command.callback([options, &action, &command] {
    action = [options, &command] {
      settle_mode(*options, command);
      return run_memory(*options);
    };
  });
}

}  // namespace assay
