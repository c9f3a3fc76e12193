#include "studies/measure/request.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/streams.h"
#include "cli/cli.h"
#include "cli/measuring.h"
#include "cli/meter_options.h"
#include "report/formats.h"

namespace assay {
namespace {

struct MeasureCommand {
  MeasureRequest request;
  std::vector<std::string> command;
  std::vector<std::string> others;
  MachineOptions machine;
  OutputOptions outputs;
  StoreOptions store;
};

void add_program_options(CLI::App& command, MeasureCommand& options) {
  MeasureRequest& request = options.request;
  static const std::map<std::string, ShownOutput> outputs = {
      {"first", ShownOutput::first}, {"all", ShownOutput::all}, {"none", ShownOutput::none}};
  command.add_option("command", options.command, "the program with its arguments, behind --")->required();
  // Not a list: behind one, `--` would end the list and not the options.
  command
      .add_option_function<std::string>(
          "--vs", [&options](const std::string& line) { options.others.push_back(line); },
          "another command line, in one word; measured interleaved")
      ->take_last()
      ->trigger_on_parse();
  command.add_option("--seconds", request.seconds, "budget for each command (default 10)")->check(between(0.01, 1e6));
  command.add_option("--runs", request.rounds, "exactly so many samples of each instead of the stopping rule")
      ->check(CLI::Range(1, 1000000));
  command.add_option("--width", request.width, "asked width of the median's 95 % interval (default 0.02)")
      ->check(between(1e-4, 1.0));
  add_choice(command, "--output", request.output, outputs,
             "which runs' output is shown, on stderr (default first); that of a run that fails is shown always");
  command.add_flag_callback("--quiet", [&request] { request.output = ShownOutput::none; }, "as --output none");
  command.add_flag_callback(
      "--end-daemons", [&request] { request.daemons = Daemons::ended; },
      "end what a run leaves running: SIGTERM, SIGKILL 2 s later; reported either way");
  command
      .add_option("--flops", request.flops, "operations that one run is claimed to do: judged by this machine's peaks")
      ->check(between(1, 1e24));
  command.add_option("--claims", request.claims, "precision in which it is claimed to do them (default fp32)");
  command.add_option("--seed", request.seed, "of the order of rounds (default 1)");
}

/// Peaks are measured only for a claim: that takes some seconds.
MachineFacts facts_of(const MeasureCommand& options, Measuring& measuring) {
  if (options.request.flops) return measuring.probe_machine(options.machine, "cpu");
  return measuring.read_machine(options.machine);
}

int run_measure(MeasureCommand& options) {
  options.request.commands = {parse_command(options.command)};
  for (const std::string& other : options.others) options.request.commands.push_back(parse_command({other}));
  if (options.request.commands.size() > 26) fail_user("--vs: at most 25 commands are compared with the first");
  Measuring measuring(options.store);
  const Document document =
      measure_programs(options.request, [&] { return facts_of(options, measuring); }, measuring.callbacks());
  measuring.finish();
  deliver(document, options.outputs);
  return measuring.exit_code();
}

}  // namespace

void add_measure(CLI::App& program, Action& action) {
  const auto options = std::make_shared<MeasureCommand>();
  CLI::App& command = *program.add_subcommand(
      "measure", "Measure any program as bench measures models: time, processor time, memory, energy, its own phases");
  command.footer(
      "examples: assay measure -- python3 train.py --steps 10\n"
      "          assay measure --vs 'python3 train.py --compile' -- python3 train.py\n"
      "          assay measure --flops 2e12 --claims fp32 --json out.json -- ./matmul 10000");
  add_program_options(command, *options);
  add_output_options(command, options->outputs);
  add_record_outputs(command, options->outputs);
  add_store_option(command, options->store);
  add_meter_options(command, options->request.energy);
  add_energy_window_options(command, options->request.energy);
  add_machine_options(command, options->machine);
  command.callback([options, &action] { action = [options] { return run_measure(*options); }; });
}

}  // namespace assay
