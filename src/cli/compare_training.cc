#include "studies/compare_training.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/json.h"
#include "base/streams.h"
#include "cli/cli.h"
#include "cli/deliver.h"
#include "cli/interrupt.h"
#include "cli/output_options.h"
#include "cli/progress.h"
#include "cli/train_options.h"
#include "report/text.h"

namespace assay {
namespace {

struct CompareTrainingCommand {
  CompareTrainingRequest request;
  MachineOptions machine;
  std::filesystem::path json;
  std::filesystem::path csv;
  std::filesystem::path svg;
};

void add_comparison_options(CLI::App& command, CompareTrainingCommand& options) {
  command.add_option("--precision", options.request.precisions, "comma-separated; the first is compared with")
      ->delimiter(',')
      ->required();
  command.add_option("--seeds", options.request.seeds, "trainings a precision (default 1)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}));
  command.add_option("--target-loss", options.request.target_loss,
                     "time to reach it is shown (default: the worst final loss of those that learn)");
  add_output_file(command, "--json", options.json, "file to write");
  add_output_file(command, "--csv", options.csv, "file to write");
  add_output_file(command, "--svg", options.svg, "chart to write");
}

int run(const CompareTrainingCommand& options) {
  for (const std::string& precision : options.request.precisions) find_precision(precision);
  const std::atomic<bool>& interrupted = watch_interrupts();
  Progress progress;
  TrainCallbacks callbacks;
  callbacks.step = [&](const TrainStatus& status) {
    progress.show(fmt::format("step {} of {}: loss {}", status.steps, status.total, loss_words(status.last.loss)),
                  status.seconds_left);
  };
  callbacks.interrupted = &interrupted;
  const TrainingComparison comparison =
      compare_training(options.request, facts_for(options.machine, options.request.training.engine.device), callbacks);
  progress.finish();
  std::string text = to_text(comparison) + "\n";
  for (const std::string& note : comparison_notes(comparison)) text += wrap(note, 120, 2) + "\n";
  deliver([&] { print(text); }, {{options.json, [&] { return to_json(comparison).dump(2) + "\n"; }},
                                 {options.csv, [&] { return to_csv(comparison); }},
                                 {options.svg, [&] { return to_svg(comparison); }}});
  return static_cast<int>(interrupted ? ExitCode::interrupted : ExitCode::ok);
}

}  // namespace

void add_compare_training(CLI::App& program, Action& action) {
  const auto options = std::make_shared<CompareTrainingCommand>();
  CLI::App& command = *program.add_subcommand("compare-training",
                                              "Train in several precisions from the same start, and compare losses");
  command.footer(
      "example: assay compare-training cs336-small --precision fp32,mixed-bf16,bf16 --data book.txt --bytes --steps "
      "100");
  TrainRequest& training = options->request.training;
  add_data_options(command, training);
  add_comparison_options(command, *options);
  add_optimizer_options(command, training);
  add_schedule_options(command, training);
  add_step_options(command, training);
  add_engine_options(command, training.engine);
  add_graphs_option(command, training.engine.graphs);
  add_model_options(command, training.model_options);
  add_machine_options(command, options->machine);
  command.callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace assay
