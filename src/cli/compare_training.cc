#include "studies/compare_training/run.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/output_options.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/step_options.h"
#include "cli/train_options.h"
#include "report/draw/figure.h"

namespace assay {
namespace {

struct CompareTrainingCommand {
  CompareTrainingRequest request;
  MachineOptions machine;
  OutputOptions outputs;
  std::vector<std::string> states;
  std::vector<std::string> gradients;
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
  add_reduce_list(command, options.request.reduces);
  add_thread_ranks_option(command, options.request.thread_ranks);
  add_storage_lists(command, options.states, options.gradients);
  add_output_options(command, options.outputs);
  add_output_file(command, "--svg", options.svg, "chart to write");
}

/// A rank beside rank 0: it trains, and tells nothing.
int compare_beside(const CompareTrainingCommand& options, const MachineFacts& facts, Group& group) {
  TrainCallbacks silent;
  silent.interrupted = &watch_interrupts();
  compare_training(options.request, facts, silent, group);
  return 0;
}

int compare_and_tell(const CompareTrainingCommand& options, const MachineFacts& facts, Group& group) {
  const std::atomic<bool>& interrupted = watch_interrupts();
  Progress progress;
  TrainCallbacks callbacks;
  callbacks.step = [&](const TrainStatus& status) {
    progress.show(fmt::format("step {} of {}: loss {}", status.steps, status.total, loss_words(status.last.loss)),
                  status.seconds_left);
  };
  callbacks.interrupted = &interrupted;
  const TrainingComparison comparison = compare_training(options.request, facts, callbacks, group);
  progress.finish();
  const Document document = to_document(comparison);
  deliver(document, options.outputs, {}, {{options.svg, [&] { return figures_svg(document.figures); }}});
  return static_cast<int>(interrupted ? ExitCode::interrupted : ExitCode::ok);
}

int run_compare_training(CompareTrainingCommand& options, const CLI::App& command) {
  options.request.storages = storages_of(options.states, options.gradients);
  for (const std::string& precision : options.request.precisions) find_precision(precision);
  const std::string& device = options.request.training.engine.device;
  return as_rank({task_of_command(command), device, options.request.thread_ranks}, [&](Group& group) {
    const MachineFacts facts = facts_of_rank(group, options.machine, device);
    return group.rank() == 0 ? compare_and_tell(options, facts, group) : compare_beside(options, facts, group);
  });
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
  command.callback([options, &command, &action] {
    action = [options, &command] { return run_compare_training(*options, command); };
  });
}

}  // namespace assay
