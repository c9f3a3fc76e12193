#include "studies/memory/request.h"

#include "base/error.h"
#include "cli/cli.h"
#include "cli/grid_ranks.h"
#include "cli/interrupt.h"
#include "cli/output_options.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/shard_options.h"
#include "cli/step_options.h"
#include "report/draw/figure.h"

namespace assay {
namespace {

struct MemoryCommand {
  MemoryRequest request;
  std::vector<std::string> models;
  std::vector<std::int64_t> contexts = {4096};
  MachineOptions machine;
  OutputOptions outputs;
  ShardOptions shard;
  std::filesystem::path svg;
};

/// What one mode has no use for is an error.
void settle_mode(MemoryCommand& options, const CLI::App& command) {
  const bool generates = options.request.mode == RunMode::generate;
  for (const char* unused : generates ? std::vector{"--seq"} : std::vector{"--context"}) {
    if (command.count(unused) > 0)
      fail_user("--mode {}: {} says nothing of it; drop it", name(options.request.mode), unused);
  }
  if (options.request.mode != RunMode::train)
    refuse_step_axes(command, fmt::format("--mode {}: says nothing of it; drop it", name(options.request.mode)));
  if (generates) options.request.seqs = options.contexts;
}

GridPart predict_memory(MemoryCommand& options) {
  settle_models(options.models, options.request.model_options);
  const MachineFacts facts = facts_for(options.machine, options.request.engine.device);
  Progress progress;
  GridPart part;
  watch_interrupts();
  part.document = memory(options.models, options.request, facts, [&](const std::string& what) {
    end_if_interrupted("memory");
    progress.show(what, 0);
  });
  end_if_interrupted("memory");
  return part;
}

int run_memory(MemoryCommand& options) {
  options.request.division = division_of(options.shard);
  GridTelling telling;
  telling.more = [&](const std::vector<ReportSource>& sources) {
    return std::vector<OutputFile>{{options.svg, [&] { return figures_svg(figures_of(sources)); }}};
  };
  return run_grid(
      {options.shard, options.request.division, {.file = "none"}, options.outputs},
      [&](const StoreOptions& /*store*/) { return predict_memory(options); },
      [&](const std::vector<GridPart>& parts) {
        deliver_grid(parts, options.outputs, telling);
        return cells_code(parts);
      });
}

void add_rank_prediction_options(CLI::App& command, RankRequest& ranks) {
  CLI::Option* counts = command
                            .add_option("--ranks", ranks.counts,
                                        "training: also what each of so many ranks holds and sends, such as 8,64,4096")
                            ->delimiter(',')
                            ->check(CLI::Range(2, 1 << 16));
  command
      .add_option_function<std::string>(
          "--reduce", [&ranks](const std::string& name) { ranks.reduce.format = find_reduce_format(name); },
          "ranks: how gradients travel (default f32)")
      ->needs(counts);
  command.add_option("--step-ms", ranks.step_ms, "ranks: what a step takes one rank alone; predicts that of all")
      ->check(between(1e-9, 1e12))
      ->needs(counts);
  command.add_option("--bandwidth", ranks.bandwidth_gb_s, "ranks: GB/s that each sends with (default 12.5)")
      ->check(between(1e-9, 1e12))
      ->needs(counts);
  command.add_option("--latency-us", ranks.latency_us, "ranks: of a message (default 5)")
      ->check(between(0, 1e12))
      ->needs(counts);
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
  add_step_axes(command, request.step);
  command.add_flag_callback(
      "--measure", [&request] { request.measure = Measure::yes; },
      "run what fits, each in a process of its own, and say how well the prediction agrees");
  add_rank_prediction_options(command, request.ranks);
  add_output_options(command, options->outputs);
  add_shard_options(command, options->shard);
  add_output_file(command, "--svg", options->svg, "draw live bytes over the steps");
  add_engine_options(command, request.engine);
  add_recipe_option(command, request.engine, request.precisions);
  add_model_options(command, request.model_options);
  add_lora_option(command, request.model_options);
  add_size_options(command, request.model_options);
  add_machine_options(command, options->machine);
  command.callback([options, &action, &command] {
    action = [options, &command] {
      settle_mode(*options, command);
      return run_memory(*options);
    };
  });
}

}  // namespace assay
