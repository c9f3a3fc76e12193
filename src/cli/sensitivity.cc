#include "base/error.h"
#include "cli/cli.h"
#include "cli/grid_ranks.h"
#include "cli/measuring.h"
#include "cli/meter_options.h"
#include "cli/outputs.h"
#include "cli/shard_options.h"
#include "cli/step_options.h"
#include "studies/sensitivity/request.h"

namespace assay {
namespace {

struct SensitivityCommand {
  SensitivityRequest request;
  MachineOptions machine;
  OutputOptions outputs;
  ShardOptions shard;
};

/// What one mode has no use for is an error; in training the precisions are those in which it can be done.
void settle_sensitivity_mode(SensitivityRequest& request, const CLI::App& command) {
  const bool trains = request.mode == RunMode::train;
  std::vector<const char*> unused = {"--steps", "--lr", "--gradients"};
  if (trains)
    unused = {"--by", "--tokens", "--seconds", "--layer-seconds", "--estimates", "--gradient-rows", "--resume"};
  for (const char* option : unused) {
    if (command.count(option) > 0) fail_user("--mode {}: {} says nothing of it; drop it", name(request.mode), option);
  }
  if (!trains || command.count("--precision") > 0) return;
  request.precisions.clear();
  for (const Precision& row : precision_table()) {
    if (row.gradients && is_listed_on(row, request.engine.device)) request.precisions.emplace_back(row.name);
  }
}

/// Leaves of models and precisions the part that is measured here.
ShardPart keep_sensitivity_part(GridDivision& division, SensitivityRequest& request) {
  const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  const ShardPart part = take_part(division, {count(request.models), count(request.precisions)});
  const auto keep = [](auto& list, const IndexRange& kept) {
    std::int64_t number = 0;
    std::erase_if(list, [&](const auto&) { return !kept.holds(number++); });
  };
  if (part.is_empty()) return part;
  if (request.data.size() == request.models.size()) keep(request.data, part.cells);
  keep(request.models, part.cells);
  keep(request.precisions, part.rows);
  return part;
}

GridPart measure_sensitivity(SensitivityCommand& options, GridDivision division) {
  if (keep_sensitivity_part(division, options.request).is_empty()) {
    const bool trains = options.request.mode == RunMode::train;
    GridPart part;
    part.document = document_without_part(division, trains ? "assay-sensitivity-train-1" : "assay-sensitivity-1");
    return part;
  }
  Measuring measuring({.file = "none"});
  return measuring.part(sensitivity(
      options.request, [&] { return measuring.probe_machine(options.machine, options.request.engine.device); },
      measuring.callbacks()));
}

int run_sensitivity(SensitivityCommand& options) {
  const GridDivision division = division_of(options.shard);
  return run_grid(
      {options.shard, division, {.file = "none"}, options.outputs},
      [&](const StoreOptions& /*store*/) { return measure_sensitivity(options, division); },
      [&](const std::vector<GridPart>& parts) {
        deliver_grid(parts, options.outputs);
        return grid_code(parts);
      });
}

void add_scoring_options(CLI::App& command, SensitivityRequest& request) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  command
      .add_option("--data", request.data, "text, .tsv, .jsonl or folder of .npy: one for all models, or one for each")
      ->delimiter(',');
  command.add_option("--window", request.window, "tokens a row of a text (default 128)")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 20));
  command.add_option("--batch", request.batch, "rows at a time (default: 4 windows, or 32 sentences)")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--tokens", request.tokens, "scored for each unit, in whole batches (default: by --seconds)")
      ->check(CLI::Range(std::int64_t{1}, most));
  command.add_option("--seconds", request.seconds, "budget of scoring, each model (default 120; one batch at least)")
      ->check(between(0.01, 1e7));
}

void add_training_options(CLI::App& command, SensitivityRequest& request) {
  command.add_option("--steps", request.steps, "training: the last of so many is looked at (default 4)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command.add_option("--lr", request.learning_rate, "training: learning rate of AdamW (default 0.001)")
      ->check(between(0, 1e6));
  add_gradients_option(command, request.storage);
}

}  // namespace

void add_sensitivity(CLI::App& program, Action& action) {
  const auto options = std::make_shared<SensitivityCommand>();
  SensitivityRequest& request = options->request;
  CLI::App& command = *program.add_subcommand("sensitivity", "Find which layers can bear a lower precision");
  command.footer("example: assay sensitivity smollm2-135m --precision int8,bf16 --data text.txt --html page.html");
  command.add_option("models", request.models, "folders, .gguf files, cached models or presets")->required();
  command
      .add_option("--precision", request.precisions, "comma-separated (default int8,bf16; training: all it can be in)")
      ->delimiter(',');
  add_mode_option(command, request.mode);
  add_training_options(command, request);
  command.add_option("--by", request.by, "units: layer, block, role (default: all)")->delimiter(',');
  add_scoring_options(command, request);
  command.add_option("--layer-seconds", request.layer_seconds, "budget of timing, each precision (default 2)")
      ->check(between(0.01, 1e6));
  static const std::map<std::string, Estimates> estimates = {{"on", Estimates::made}, {"off", Estimates::left_out}};
  add_choice(command, "--estimates", request.estimates, estimates, "estimates by gradients beside the direct figures");
  command.add_option("--gradient-rows", request.gradient_rows, "rows behind the estimates (default 32)")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--resume", request.resume, "JSON of an earlier run, whose direct figures are taken over");
  add_output_options(command, options->outputs);
  add_shard_options(command, options->shard);
  add_engine_options(command, request.engine);
  add_model_options(command, request.model_options);
  add_meter_options(command, request.energy);
  add_machine_options(command, options->machine);
  command.callback([options, &action, &command] {
    action = [options, &command] {
      settle_sensitivity_mode(options->request, command);
      return run_sensitivity(*options);
    };
  });
}

}  // namespace assay
