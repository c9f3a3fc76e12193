#include <fmt/format.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/deliver.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/share_option.h"
#include "cli/stores.h"
#include "studies/fleet/request.h"

namespace assay {
namespace {

enum class FleetTask : std::uint8_t { report };

struct FleetCommand {
  FleetTask task = FleetTask::report;
  std::vector<std::string> stores;
  std::string max_drop;
  std::string max_perplexity;
  FleetRequest request;
  OutputOptions outputs;
};

int run_fleet(FleetCommand& options) {
  MostLoss& most = options.request.most_loss;
  if (!options.max_drop.empty()) most.accuracy = share_of(options.max_drop, "--max-drop");
  if (!options.max_perplexity.empty()) most.perplexity = share_of(options.max_perplexity, "--max-perplexity");
  Progress progress;
  ReadStores read = read_stores(options.stores, progress);
  progress.finish();
  if (read.runs.empty() && read.failed > 0) return static_cast<int>(ExitCode::user);
  deliver(fleet_report(std::move(read.runs), options.request), options.outputs);
  return read.failed > 0 ? static_cast<int>(ExitCode::user) : 0;
}

}  // namespace

void add_fleet(CLI::App& program, Action& action) {
  const auto options = std::make_shared<FleetCommand>();
  FleetRequest& request = options->request;
  CLI::App& command = *program.add_subcommand(
      "fleet", "Compare machines: which precision where, where they disagree and why, which of them is slow");
  command.footer("example: assay fleet report node*.db --html fleet.html");
  static const std::map<std::string, FleetTask> tasks = {{"report", FleetTask::report}};
  add_choice(command, "task", options->task, tasks, "one page over all machines")->required();
  command.add_option("stores", options->stores, "stores, what assay export wrote, or --json files: of every machine")
      ->required();
  command
      .add_option("--max-kl", request.most_loss.kl, "most KL(baseline || precision) of a choice, nats (default 0.01)")
      ->check(between(0, 1e6))
      ->each([&request](const std::string&) { request.most_loss.counts_unmeasured = false; });
  command.add_option("--max-drop", options->max_drop, "most accuracy that a choice may lose, such as 0.5%");
  command.add_option("--max-perplexity", options->max_perplexity, "most relative rise of its perplexity, such as 1%");
  command.add_option_function<std::string>(
      "--margin", [&request](const std::string& text) { request.margin = tolerance_of(text, "--margin"); },
      "by which a machine stands apart at least (default 3%)");
  add_output_options(command, options->outputs, JsonOption::flag);
  command.callback([options, &action] { action = [options] { return run_fleet(*options); }; });
}

}  // namespace assay
